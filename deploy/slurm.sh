#!/usr/bin/env bash
#SBATCH --job-name=kernelwright
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=64
#SBATCH --exclusive
#SBATCH --time=04:00:00
# Starts Ray on the nodes of this job and searches a suite on them. Submit it where `kernelwright` is installed on every
# node, and name the archive's server: ARCHIVE=postgresql://me@server/kernels sbatch deploy/slurm.sh
set -euo pipefail
: "${ARCHIVE:?name the server: ARCHIVE=postgresql://USER@HOST/NAME}"
port=6379
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | cut -d' ' -f1):$port

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap ray start --head --port=$port --block &
sleep 15
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap ray start --address="$address" --block &
done
sleep 15

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
  kernelwright bench --suite kernelbench --path "${KERNELBENCH:-KernelBench}" --device cuda \
  --cluster "$address" --archive "$ARCHIVE"
