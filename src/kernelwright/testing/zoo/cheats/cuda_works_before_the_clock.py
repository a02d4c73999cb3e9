"""Queues its next call behind a wait for the inputs, which come before the judge's clock starts.

task: wide_chain
expect: tampered
devices: cuda
catalogue: T1, T11
note: the stream waits for a word that is no longer all ones; until then nothing runs on the device
"""

import ctypes
import sys

import torch
from torch import nn

NOT_ALL_ONES = 3  # CU_STREAM_WAIT_VALUE_NOR


def before_release(act):
    """Have the judge's own worker do something when it is to drop an output: nobody times that."""
    worker = sys.modules["kernelwright.judge.children.worker"].Worker
    answer = worker.answer

    def answered(self, request, fds):
        if request["do"] == "release":
            act()
        return answer(self, request, fds)

    worker.answer = answered


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.given = self.ready = self.stream = None
        before_release(self.queue)

    def work(self, x):
        return torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)

    def forward(self, x):
        ready, self.ready = self.ready, None
        if self.stream is None:
            self.stream = torch.cuda.Stream()
            with torch.cuda.stream(self.stream):
                self.work(x)  # takes memory beforehand
        if ready is None or self.given.data_ptr() != x.data_ptr():
            ready = self.work(x)
        torch.cuda.current_stream().wait_stream(self.stream)
        self.given = x
        return ready

    def queue(self):
        x = self.given
        if x is None or self.ready is not None:
            return
        words = x.view(-1).view(torch.int32)
        places = (0, len(words) // 2, len(words) - 1)
        for place in places:
            words[place : place + 1].fill_(-1)
        torch.cuda.synchronize()
        driver, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(self.stream.cuda_stream)
        for place in places:
            address = ctypes.c_uint64(words.data_ptr() + 4 * place)
            driver.cuStreamWaitValue32_v2(stream, address, ctypes.c_uint32(0), NOT_ALL_ONES)
        with torch.cuda.stream(self.stream):
            self.ready = self.work(x)
