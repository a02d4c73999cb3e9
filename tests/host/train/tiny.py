"""A tiny model with a token for each of three whole answers, so that it can write a correct kernel.

Its weights are random, so its answers are noise until it is trained, and are judged like any other.
"""

from tests.host.swarm.candidates import FASTER, RIGHT, TASK, WRONG
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.proposers.policy import CONTEXT
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.question import Question

ANSWERS = tuple(text.strip() + "\n" for text in (RIGHT, FASTER, WRONG))
END = "<end>"
BRIEF = Brief(Task("one", "dataset", TASK), Device.parse("cpu"), ("cpp",))
ASKED = prompt.generator(BRIEF, Question("write", "cpp"), CONTEXT)


def tokenizer():
    """Return a vocabulary of bytes, pieces of the prompts' words, and three answers."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1000, initial_alphabet=alphabet, show_progress=False)
    words.train_from_iterator([*ANSWERS, *(text for _, text in ASKED)], trainer)
    words.add_tokens([AddedToken(text, normalized=False) for text in ANSWERS])
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token=END, pad_token="<pad>")


def save(folder, seed=0):
    """Write the tiny model's checkpoint."""
    words = tokenizer()
    set_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=8192, eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)
