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
# Who connects to Ray runs code on its nodes: it asks for a token, which lies in the home that the nodes share.
export RAY_AUTH_MODE=token
ray get-auth-token --generate >/dev/null

on_node() { srun --nodes=1 --ntasks=1 --overlap --nodelist="$1" "${@:2}"; }
n_alive() {
  on_node "$head" python -c "import ray; ray.init(address='$address'); print(sum(n['Alive'] for n in ray.nodes()))"
}

address=$(on_node "$head" hostname --all-ip-addresses | cut -d' ' -f1):$port
on_node "$head" ray start --head --port=$port --block &
until on_node "$head" ray health-check --address "$address"; do sleep 2; done
for node in "${nodes[@]:1}"; do
  on_node "$node" ray start --address="$address" --block &
done
# The nodes that are there when a command begins say how many searches it has at a time.
until [ "$(n_alive)" = ${#nodes[@]} ]; do sleep 2; done

on_node "$head" \
  kernelwright bench --suite kernelbench --path "${KERNELBENCH:-KernelBench}" --device cuda \
  --cluster "$address" --archive "$ARCHIVE"
