"""CUDA C++ that every recurrent network shares: blocks that hold the weights and wait for data.

Each block of a layer owns a few hidden units for all time steps, and keeps those units' weights in
registers. The memory of a hidden state holds a mark until the state is written, and a block that
needs the state polls until the mark is gone. Data and signal are the same words, so no barrier
across blocks and no fence is needed, and the layers of a network form a wavefront without further
synchronisation.
"""

from __future__ import annotations

WARPS = 8
THREADS = 32 * WARPS

RECURRENCE = (
    f"constexpr int WARPS = {WARPS};\n"
    + """\

// What one layer and direction reads and writes.
struct Cell {
    const float *x, *h0, *c0;
    float *y, *h_n, *c_n;
    const float *w_x, *w_h, *b_x, *b_h;
    int w_x_step, w_h_step;
    bool backwards;
};

// Four words as they are in memory now, whatever this processor has cached.
DEVICE float4 fresh(const float* from) {
    float4 v;
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from) : "memory");
    return v;
}
DEVICE bool is_marked(float4 v) {
    return __float_as_int(v.x) == -1 || __float_as_int(v.y) == -1 || __float_as_int(v.z) == -1
        || __float_as_int(v.w) == -1;
}
// A result is never the mark, which is one of the many NaNs.
DEVICE float unmarked(float x) { return x != x ? __int_as_float(0x7fc00000) : x; }
DEVICE float squashed(float x) { return 1.0f / (1.0f + expf(-x)); }

// A warp's columns of one time step, on their way from memory to its own shared memory.
template <int K, int PACKS, int BATCH, bool WAITS> struct Columns {
    static constexpr int ROUNDS = (BATCH * PACKS + 31) / 32;
    float4 got[ROUNDS];

    // Starts to read, whether or not all of them have been written.
    DEVICE void read(const float* from, int step, int first, int lane) {
        #pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int n = round * 32 + lane, b = n / PACKS, k = first + n % PACKS * 4;
            got[round] = make_float4(0, 0, 0, 0);
            if (b < BATCH && k < K) {
                const float* place = from + b * step + k;
                got[round] = WAITS ? fresh(place) : *reinterpret_cast<const float4*>(place);
            }
        }
    }
    DEVICE bool is_missing() const {
        bool missing = false;
        #pragma unroll
        for (int round = 0; round < ROUNDS; ++round) missing |= is_marked(got[round]);
        return WAITS && missing;
    }
    DEVICE void put(float4* to, int lane) const {
        __syncwarp();  // all lanes are done with what was here
        #pragma unroll
        for (int round = 0; round < ROUNDS; ++round)
            if (round * 32 + lane < BATCH * PACKS) to[round * 32 + lane] = got[round];
        __syncwarp();
    }
};

// Products of a lane's columns with its weights, added to the sums of its unit's gates.
template <int GATES, int LAST, int EACH, int LANES, int BATCH, int SUMS>
DEVICE void multiply(float (&sum)[SUMS][BATCH], const float (&w)[GATES][4 * EACH],
                     const float4* from, int part) {
    #pragma unroll
    for (int j = 0; j < EACH; ++j)
        #pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const float4 v = from[b * EACH * LANES + j * LANES + part];
            #pragma unroll
            for (int g = 0; g < GATES; ++g) {
                float& s = sum[g == GATES - 1 ? LAST : g][b];
                s += w[g][4 * j] * v.x;
                s += w[g][4 * j + 1] * v.y;
                s += w[g][4 * j + 2] * v.z;
                s += w[g][4 * j + 3] * v.w;
            }
        }
}

// Adds the sums of the lanes that share a unit; each keeps an N-th of them.
template <int N, int MASK, int UNITS> DEVICE void share(float* sum, int lane) {
    if constexpr (MASK >= UNITS) {
        const bool upper = lane & MASK;
        #pragma unroll
        for (int i = 0; i < N / 2; ++i) {
            const float given = upper ? sum[i] : sum[i + N / 2];
            const float kept = upper ? sum[i + N / 2] : sum[i];
            sum[i] = kept + __shfl_xor_sync(0xffffffffu, given, MASK);
        }
        share<N / 2, MASK / 2, UNITS>(sum, lane);
    }
}

template <class S, int K, int EACH>
DEVICE void hold(float (&w)[S::GATES][4 * EACH], const float* from, int step, int unit,
                 int first, int part) {
    #pragma unroll
    for (int g = 0; g < S::GATES; ++g)
        #pragma unroll
        for (int i = 0; i < 4 * EACH; ++i) {
            const int k = first + (i / 4 * (32 / S::UNITS) + part) * 4 + i % 4;
            w[g][i] = k < K ? from[(long long)(g * S::HIDDEN + unit) * step + k] : 0.0f;
        }
}

// The new hidden state from a unit's finished sums; c is the cell state of an LSTM.
template <class S> DEVICE float next(const float* sum, float h, float& c) {
    if (S::KIND == 0) {
        c = squashed(sum[1]) * c + squashed(sum[0]) * tanhf(sum[2]);
        return squashed(sum[3]) * tanhf(c);
    }
    if (S::KIND == 1) {
        const float r = squashed(sum[0]), z = squashed(sum[1]), n = tanhf(sum[3] + r * sum[2]);
        return (h - n) * z + n;
    }
    return S::KIND == 2 ? tanhf(sum[0]) : sum[0] > 0 ? sum[0] : sum[0] != sum[0] ? sum[0] : 0.0f;
}

template <class S, int INPUT, int X_TIME, int X_BATCH, bool WAITS>
DEVICE void run_cell(const Cell& cell, int group, float4* stage, float* partial) {
    constexpr int U = S::UNITS, B = S::BATCH, LANES = 32 / U, WIDTH = WARPS * LANES * 4;
    constexpr int X_EACH = (INPUT + WIDTH - 1) / WIDTH, H_EACH = (S::HIDDEN + WIDTH - 1) / WIDTH;
    constexpr int SUMS = S::SUMS, ALL = SUMS * B;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = lane / U;
    const int x_first = warp * X_EACH * LANES * 4, h_first = warp * H_EACH * LANES * 4;
    float w_x[S::GATES][4 * X_EACH], w_h[S::GATES][4 * H_EACH];
    hold<S, INPUT, X_EACH>(w_x, cell.w_x, cell.w_x_step, group * U + lane % U, x_first, part);
    hold<S, S::HIDDEN, H_EACH>(w_h, cell.w_h, cell.w_h_step, group * U + lane % U, h_first, part);
    float4* own = stage + warp * B * LANES * (X_EACH > H_EACH ? X_EACH : H_EACH);
    int at = 0;  // the first of the sums that this lane keeps
    for (int mask = 16, half = ALL / 2; mask >= U; mask /= 2, half /= 2)
        if (lane & mask) at += half;
    const int pair = threadIdx.x, unit = group * U + pair % U, row = pair / U;
    const bool finishes = pair < U * B;
    float bias[SUMS], h = 0, c = 0;
    #pragma unroll
    for (int s = 0; s < SUMS; ++s) bias[s] = 0;
    if (finishes) {
        h = cell.h0[row * S::HIDDEN + unit];
        if (S::KIND == 0) c = cell.c0[row * S::HIDDEN + unit];
        #pragma unroll
        for (int g = 0; g < S::GATES && S::BIASED; ++g) {
            bias[S::KIND == 1 && g == 2 ? 3 : g] += cell.b_x[g * S::HIDDEN + unit];
            bias[g] += cell.b_h[g * S::HIDDEN + unit];
        }
    }
    Columns<INPUT, X_EACH * LANES, B, WAITS> ahead;
    const long long start = cell.backwards ? S::TIME - 1 : 0;
    ahead.read(cell.x + start * X_TIME, X_BATCH, x_first, lane);
    for (int step = 0; step < S::TIME; ++step) {
        const int time = cell.backwards ? S::TIME - 1 - step : step;
        const int before = cell.backwards ? time + 1 : time - 1;
        float sum[SUMS][B];
        #pragma unroll
        for (int i = 0; i < ALL; ++i) sum[i / B][i % B] = 0;
        const float* x = cell.x + (long long)time * X_TIME;
        while (ahead.is_missing()) ahead.read(x, X_BATCH, x_first, lane);
        ahead.put(own, lane);
        multiply<S::GATES, SUMS - 1, X_EACH, LANES>(sum, w_x, own, part);
        if (step + 1 < S::TIME)  // read while this step waits for its hidden states
            ahead.read(x + (cell.backwards ? -X_TIME : X_TIME), X_BATCH, x_first, lane);
        const float* y = cell.y + (long long)before * S::Y_TIME;
        Columns<S::HIDDEN, H_EACH * LANES, B, true> hidden;
        if (step == 0) {
            Columns<S::HIDDEN, H_EACH * LANES, B, false> given;
            given.read(cell.h0, S::HIDDEN, h_first, lane);
            given.put(own, lane);
        } else {
            do hidden.read(y, S::Y_BATCH, h_first, lane);
            while (hidden.is_missing());
            hidden.put(own, lane);
        }
        multiply<S::GATES, S::GATES - 1, H_EACH, LANES>(sum, w_h, own, part);
        share<ALL, 16, U>(&sum[0][0], lane);
        __syncthreads();  // the sums of the step before have been read
        #pragma unroll
        for (int i = 0; i < ALL / LANES; ++i)
            partial[(warp * ALL + at + i) * U + lane % U] = sum[i / B][i % B];
        __syncthreads();
        if (finishes) {
            float total[SUMS];
            #pragma unroll
            for (int s = 0; s < SUMS; ++s) {
                total[s] = bias[s];
                #pragma unroll
                for (int w = 0; w < WARPS; ++w)
                    total[s] += partial[(w * ALL + s * B) * U + pair];
            }
            h = next<S>(total, h, c);
            *(volatile float*)(cell.y + (long long)time * S::Y_TIME + row * S::Y_BATCH + unit) =
                unmarked(h);
            if (step == S::TIME - 1) {
                cell.h_n[row * S::HIDDEN + unit] = h;
                if (S::KIND == 0) cell.c_n[row * S::HIDDEN + unit] = c;
            }
        }
    }
}
"""
)
