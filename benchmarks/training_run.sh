#!/usr/bin/env bash
# SFT, the self-supervised stage, then contrastive training beside plain GRPO from there, and one exam of all, on one
# host with one or two GPUs.
#
#   python benchmarks/training_lessons.py --exclude … --out lessons
#   python benchmarks/training_pool.py --exclude … --archive pool.sqlite
#   python benchmarks/training_exam.py KernelBench exam --shards GPUS
#   benchmarks/training_run.sh MODEL lessons pool.sqlite exam OUT
#
# MODEL: a checkpoint or .gguf. With GPUS=2, which is the default, each arm trains and judges on a GPU of its
# own, both at the same time; with GPUS=1 they take turns. A host makes one to three CUDA contexts a second,
# however many GPUs it has, so a verdict costs more than learning from it: UPDATES steps on each batch of answers.
# In the exam each gives ANSWERS answers to a task, and the arms and SFT then SHOWN more to prompts that show them their
# own kernels; SFT gives MORE without, for the best of as many that were only sampled.
# Eight lessons at a time on one GPU take more than 80 GB: BATCH=4 there.
# SFT_S, SELF_S, ARM_S, BATCH, SEED, RATE, UPDATES, ANSWERS, SHOWN and MORE may be set; SFT_S=0: MODEL has been taught;
# SELF_S=0 or ARM_S=0: without that stage. What was stopped goes on by the same command.
set -euo pipefail
model=$1 lessons=$2 pool=$3 exam=$4 out=$(realpath -m "$5")
python=${PYTHON:-python3}
run="$python -m kernelwright" answers=${ANSWERS:-3} shown=${SHOWN:-2} more=${MORE:-2} gpus=${GPUS:-2}
mkdir -p "$out"
on() { # GPU COMMAND…: whoever measures on one GPU has its part of the cores alone
  local each=$(($(nproc) / gpus)) gpu=$1
  shift
  CUDA_VISIBLE_DEVICES=$gpu taskset -c "$((gpu * each))-$(((gpu + 1) * each - 1))" "$@"
}

if [ "${SFT_S:-220}" = 0 ]; then
  taught=$model
else
  taught=$out/sft/sft/model
  launch=("$python") # eight lessons a step, on however many GPUs
  [ "$gpus" = 1 ] || launch+=(-m accelerate.commands.launch --multi_gpu --num_processes "$gpus"
    --num_machines 1 --mixed_precision bf16 --dynamo_backend no)
  CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((gpus - 1))) "${launch[@]}" -m kernelwright train sft --model "$model" \
    --dataset "$lessons" --dialect triton --budget "${SFT_S:-220}s" --batch "${BATCH:-$((8 / gpus))}" --no-recompute \
    --max-tokens 1024 --checkpoint-every 50 --seed "${SEED:-1}" --out "$out/sft"
fi

reinforce() { # NAME GPU SECONDS MODEL STAGE OPTION…
  [ -e "$out/$1.sqlite" ] || cp "$pool" "$out/$1.sqlite"
  on "$2" $run train "$5" --model "$4" --dialect triton --device cuda --budget "$3s" --tasks 4 --group 16 \
    --max-tokens 1024 --learning-rate "${RATE:-5e-5}" --updates "${UPDATES:-3}" --jobs 4 --seed "${SEED:-1}" \
    --batch "${BATCH:-8}" --checkpoint-every 6 --out "$out/$1" --archive "$out/$1.sqlite" "${@:6}" >"$out/$1.log" 2>&1
}
all() { # PID…: wait for every one of them, and fail where one did
  local failed=0 pid
  for pid in "$@"; do wait "$pid" || failed=1; done
  return $failed
}
arm() { # NAME GPU PRESET
  reinforce "$1" "$2" "${ARM_S:-740}" "$begun" contrastive --preset "$3"
}
models=(sft="$taught") begun=$taught selfsup=() compared=()
if [ "${SELF_S:-150}" != 0 ]; then
  reinforce selfsup 0 "${SELF_S:-150}" "$taught" selfsup
  begun=$out/selfsup/selfsup/model
  selfsup=(--policy "$begun=$answers") compared+=(--arm "self-supervised=$begun@$answers")
fi
if [ "${ARM_S:-740}" != 0 ]; then
  if [ "$gpus" = 1 ]; then
    arm contrastive 0 cuda-l1
    arm plain 0 plain
  else
    arm contrastive 0 cuda-l1 & one=$!
    arm plain 1 plain & all $one $!
  fi
  models+=(contrastive="$out/contrastive/contrastive/model" plain="$out/plain/contrastive/model")
fi

policies=()
for one in "${models[@]}"; do
  policies+=(--policy "${one#*=}=$answers") compared+=(--arm "$one@$answers")
  [ "$shown" = 0 ] || compared+=(--arm "${one%%=*}, shown=${one#*=}@$answers+$shown")
done
ask() { # GPU OPTION…
  on "$1" $run bench --suite kernelbench --path "$exam/$1" --levels 1,2 --device cuda --jobs 6 \
    --archive "$out/exam-$1.sqlite" --out "$out/exam-$1" --max-tokens 1024 "${@:2}" >>"$out/exam-$1.log" 2>&1
}
compared+=(--arm "sft, more=$taught@$((answers + more))")
examine() { # GPU: what is shown is drawn from as many answers of each, so SFT gives the others afterwards
  ask "$1" --shown "$shown" "${policies[@]}" && ask "$1" --policy "$taught=$((answers + more))" "${selfsup[@]}"
}
exams=()
for gpu in $(seq 0 $((gpus - 1))); do
  examine "$gpu" &
  exams+=($!)
done
all "${exams[@]}"

archives=()
for archive in "$out"/*.sqlite; do archives+=(--archive "$archive"); done
"$python" "$(dirname "$0")/training.py" "${archives[@]}" --against sft "${compared[@]}"
