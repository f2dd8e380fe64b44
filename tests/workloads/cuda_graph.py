# SPDX-License-Identifier: MIT
"""Capture a forward pass in a CUDA graph and replay it."""
import torch


def main():
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()).to("cuda")
    still = torch.randn(64, 512).to("cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(still)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = model(still)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    pools = {tuple(segment["segment_pool_id"]) for segment in torch.cuda.memory_snapshot()}
    print(f"answer {tuple(answer.shape)} private pool {any(pool != (0, 0) for pool in pools)}")


if __name__ == "__main__":
    main()
