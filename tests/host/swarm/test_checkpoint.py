"""Local checkpoints, tested with a tiny model that has random weights."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.null.swarm.briefs import BRIEF

from kernelwright.core.call import Call, Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.llm.chat import chat_text
from kernelwright.llm.opening import open_endpoint
from kernelwright.proposers.swarm import SwarmProposer

REFUSING = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no such role') }}"
REFUSING += "{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path_factory.mktemp("tiny")
    words = tokenizers.Tokenizer(tokenizers.models.BPE())
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = tokenizers.decoders.ByteLevel()
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(letters) + 1, special_tokens=["<end>"], initial_alphabet=letters
    )
    words.train_from_iterator(["a"], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(path)
    config = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=32_768, eos_token_id=fast.eos_token_id,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture
def endpoint(folder):
    return open_endpoint(f"hf:{folder}")


def ask(endpoint, text, n_tokens=20):
    told = dict(endpoint.parameters(7)) | {"max_output_tokens": n_tokens}
    return endpoint.ask((("user", text),), told, 60.0)


def test_a_checkpoint_answers_and_its_tokens_are_counted(endpoint):
    reply = ask(endpoint, "a kernel")
    assert reply.input_tokens == len("user: a kernel\n")  # one token a byte
    assert reply.outcome in (Outcome.CUT, Outcome.ANSWERED) and 0 < reply.output_tokens <= 20
    assert (reply.outcome is Outcome.CUT) == bool(reply.detail)


def test_the_same_seed_gives_the_same_answer(endpoint):
    assert ask(endpoint, "a kernel") == ask(endpoint, "a kernel")


def test_waiting_questions_are_answered_in_one_batch(endpoint, monkeypatch):
    ask(endpoint, "load")
    sizes, replies = [], {}
    plain = endpoint._answer
    monkeypatch.setattr(endpoint, "_answer", lambda batch: (sizes.append(len(batch)), plain(batch)))

    def one(text):
        replies[text] = ask(endpoint, text)

    threads = [threading.Thread(target=one, args=("x" * n,)) for n in range(1, 7)]
    with endpoint._turn:
        for thread in threads:
            thread.start()
        while len(endpoint._waiting) < 6:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert sizes == [6]
    assert all(said.input_tokens == len(f"user: {text}\n") for text, said in replies.items())


def test_an_error_fails_every_question_of_its_batch(endpoint, monkeypatch):
    def fail(batch):
        raise ValueError("no such role")

    monkeypatch.setattr(endpoint, "_answer", fail)
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda text: ask(endpoint, text), "abc"))
    assert {(said.outcome, said.detail) for said in replies} == {
        (Outcome.FAILED, "ValueError: no such role")
    }


def test_a_template_without_system_role_puts_it_in_the_user_message(endpoint):
    tokenizer, _ = endpoint._loaded
    form = tokenizer.chat_template
    tokenizer.chat_template = REFUSING
    try:
        said = chat_text(tokenizer, [("system", "be brief"), ("user", "a kernel")])
    finally:
        tokenizer.chat_template = form
    assert said == "user: be brief\n\na kernel\n"


def test_a_time_limit_ends_an_answer(endpoint):
    told = dict(endpoint.parameters(7)) | {"max_output_tokens": 20_000}
    reply = endpoint.ask((("user", "x"),), told, 0.0)
    assert reply.outcome in (Outcome.CUT, Outcome.ANSWERED) and reply.output_tokens < 20_000
    assert (reply.detail == "at the limit of time") == (reply.outcome is Outcome.CUT)
    short = endpoint.ask((("user", "x"),), told | {"max_output_tokens": 2}, 60.0)
    assert (short.detail == "at the limit of tokens") == (short.outcome is Outcome.CUT)
    assert short.output_tokens <= 2


def test_a_swarm_round_asks_the_checkpoint(folder, monkeypatch):
    monkeypatch.setattr("kernelwright.llm.checkpoint.MAX_OUTPUT_TOKENS", 10)
    brief = replace(BRIEF, models=(f"hf:{folder}",), contexts=("reference",))
    calls = [item for item in SwarmProposer().propose(brief) if isinstance(item, Call)]
    assert calls and calls[0].outcome in (Outcome.CUT, Outcome.ANSWERED)
    assert calls[0].cost_usd == 0.0 and calls[0].input_tokens > 1000


def test_a_folder_without_a_model_is_an_error(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(ProposerError, match="no checkpoint"):
        open_endpoint(f"hf:{tmp_path}")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ProposerError, match="cannot be loaded"):
        ask(open_endpoint(f"hf:{tmp_path}"), "x")
