#!/usr/bin/env bash
# Training in stages on one host with 2 or 4 GPUs; each stage is a command, and what was stopped goes on by the same one.
#
#   benchmarks/training_run.sh prepare sft prefer exam table        # 25 minutes with the defaults
#   benchmarks/training_run.sh prepare arms exam table              # another time: from the pieces of the first
#
# MODEL: a checkpoint or .gguf. DATA: a folder with the data sets any, quick and fast of training_lessons.py, and grid, of
# `dataset build --grid GRID --temperature inf --keep 24`. EXAM: a folder of training_exam.py with a shard for each GPU.
# POOL: the archive of training_pool.py, for arms. OUT: all that is made; OUT/pieces is small and outlasts the host.
#
#   prepare  the model as a checkpoint, with all adapters of OUT/pieces merged    70 s
#   sft      one model of each data set, SFT_S seconds on a GPU each; SFTS names them, and seed 2 of the first as first-2
#   prefer   DPO on measured schedules, from the first of SFTS                    PREFER_S
#   arms     contrastive, plain and shuffled GRPO by the fast judge from there, ARM_S seconds on a GPU each
#   exam     ANSWERS answers of each checkpoint to each task, and SHOWN more to prompts that show its own kernels
#   table    fast_1, rightness and speed of every checkpoint, paired by task with `quick` if there is one, then with the
#            first of SFTS; AGAINST names others
#
# A host starts one to three CUDA contexts a second, however many GPUs it has: an answer of the exam costs about one.
set -euo pipefail
gpus=${GPUS:-4} out=$(realpath -m "${OUT:-training}") python=${PYTHON:-python3}
here=$(dirname "$(realpath "$0")") seed=${SEED:-1}
read -ra taught <<<"${SFTS:-fast quick any}"
run="$python -m kernelwright" first=${taught[0]} checkpoints=$out/checkpoints pieces=$out/pieces
mkdir -p "$checkpoints" "$pieces"

on() { # GPU COMMAND…: a part of the cores belongs to each GPU
  local each=$(($(nproc) / gpus)) gpu=$1
  shift
  CUDA_VISIBLE_DEVICES=$gpu taskset -c "$((gpu * each))-$(((gpu + 1) * each - 1))" "$@"
}
all() { # PID…: wait for every one of them, and fail where one did
  local failed=0 pid
  for pid in "$@"; do wait "$pid" || failed=1; done
  return $failed
}
train() { # NAME ONTO GPU SECONDS STAGE OPTION…: a checkpoint of this name, and its adapter in pieces
  local name=$1 onto=$2 gpu=$3 seconds=$4 stage=$5
  [ -e "$checkpoints/$name" ] && return
  on "$gpu" $run train "$stage" --model "$checkpoints/$onto" --dialect triton --budget "${seconds}s" --no-recompute \
    --max-tokens 1024 --out "$out/$name" "${@:6}" >>"$out/$name.log" 2>&1 || { tail -n 5 "$out/$name.log" && return 1; }
  mv "$out/$name/$stage/model" "$checkpoints/$name"
  "$python" "$here/training_carry.py" pack "$out/$name/$stage/adapter" "$pieces/$name" --onto "$onto"
}
in_waves() { # FUNCTION NAME…: one on each GPU at a time
  local function=$1 gpu=0 pids=() name
  shift
  for name in "$@"; do
    "$function" "$name" "$gpu" &
    pids+=($!) gpu=$(((gpu + 1) % gpus))
    if [ "$gpu" = 0 ]; then all "${pids[@]}" && pids=(); fi
  done
  all "${pids[@]}"
}

prepare() {
  "$python" "$here/training_carry.py" convert "$MODEL" "$checkpoints/base"
  "$python" "$here/training_carry.py" restore "$pieces" "$checkpoints"
}
learn() { # NAME GPU: NAME-2 has another seed
  train "$1" base "$2" "${SFT_S:-360}" sft --dataset "$DATA/${1%-2}" --epochs "${EPOCHS:-1}" \
    --batch "${BATCH:-4}" --checkpoint-every 100 \
    --seed "$([ "$1" = "${1%-2}" ] && echo "$seed" || echo $((seed + 1)))"
}
sft() {
  local names=("${taught[@]}")
  [ "${#names[@]}" -lt "$gpus" ] && names+=("$first-2")
  in_waves learn "${names[@]}"
}
prefer() {
  train prefer "$first" 0 "${PREFER_S:-150}" prefer --dataset "$DATA/grid" --contrast 1.25 --epochs 1 --batch 2 \
    --checkpoint-every 50 --seed "$seed"
}
reinforce() { # NAME GPU
  local options=(--preset parts)
  [ "$1" = plain ] && options+=(--exemplars 0)
  [ "$1" = shuffled ] && options+=(--shuffled)
  [ -e "$out/$1.sqlite" ] || cp "$POOL" "$out/$1.sqlite"
  train "$1" "$first" "$2" "${ARM_S:-420}" contrastive "${options[@]}" --device cuda --judge fast --audit 0.05 \
    --tasks 8 --group 8 --updates 2 --learning-rate "${RATE:-2e-5}" --rank 8 --jobs 4 --batch "${BATCH:-4}" \
    --checkpoint-every 4 --seed "$seed" --archive "$out/$1.sqlite"
}
arms() { in_waves reinforce contrastive plain shuffled; }

examined() { # the checkpoints that were trained
  for path in "$checkpoints"/*; do [ "${path##*/}" = base ] || [[ "$path" = *.part ]] || echo "$path"; done
}
ask() { # GPU
  local policies=()
  while read -r path; do policies+=(--policy "$path=${ANSWERS:-2}"); done < <(examined | shuf --random-source=<(yes "$seed"))
  on "$1" $run bench --suite kernelbench --path "$EXAM/$1" --levels 1,2 --device cuda --jobs "${JOBS:-6}" \
    --archive "$out/exam-$1.sqlite" --out "$out/exam-$1" --max-tokens 1024 --shown "${SHOWN:-0}" "${policies[@]}" \
    >>"$out/exam-$1.log" 2>&1
}
exam() {
  local pids=() gpu
  for gpu in $(seq 0 $((gpus - 1))); do
    timeout -s INT "${EXAM_S:-600}" "$0" ask-"$gpu" &
    pids+=($!)
  done
  all "${pids[@]}" || echo "the exam was not finished in ${EXAM_S:-600} s; the table has what was judged"
}
table() {
  local options=() path
  for path in "$out"/*.sqlite; do options+=(--archive "$path"); done
  while read -r path; do
    [[ "$path" = *-2 ]] && continue
    local seeds=$path
    [ -e "$path-2" ] && seeds+=,$path-2
    options+=(--arm "${path##*/}=$seeds@${ANSWERS:-2}")
    [ "${SHOWN:-0}" = 0 ] || options+=(--arm "${path##*/}, shown=$path@${ANSWERS:-2}+$SHOWN")
  done < <(examined)
  local against=$first
  [ ! -e "$checkpoints/quick" ] || [ "$first" = quick ] || against="quick $first"
  for path in ${AGAINST:-$against}; do
    "$python" "$here/training.py" "${options[@]}" --against "$path"
  done | tee "$out/table.txt"
}

for stage in "$@"; do
  case $stage in
    prepare | sft | prefer | arms | exam | table) began=$SECONDS && $stage && echo "$stage: $((SECONDS - began)) s" ;;
    ask-*) ask "${stage#ask-}" ;;
    *) echo "no stage $stage" >&2 && exit 2 ;;
  esac
done
