# SPDX-License-Identifier: MIT
"""Where a backward pass is: each node reports before it runs, and whether it lies between the loss and a head."""
import torch

SHAPES = ("View", "UnsafeView", "Reshape", "Transpose", "Permute", "TBackward", "Unsqueeze", "Squeeze")


class Graph:
    def __init__(self, observer):
        self.observer = observer

    def install(self):
        original = torch.autograd.graph._engine_run_backward

        def run(outputs, *args, **kwargs):
            with torch._C.DisableTorchFunction():
                self.observer.walk()
                self._hook([t.grad_fn for t in outputs if t.grad_fn is not None])
            token = self.observer.enter("backward")
            try:
                return original(outputs, *args, **kwargs)
            finally:
                self.observer.leave(token)
                self.observer.walk()

        torch.autograd.graph._engine_run_backward = run
        torch.autograd._engine_run_backward = run

    @staticmethod
    def mark_head(tensor):
        """The node that makes the tensor; shapes given to it afterwards are above: their gradients are of logits."""
        node = None if tensor.is_leaf else tensor.grad_fn
        while node is not None and node.name().startswith(SHAPES):
            node = node.next_functions[0][0]
        if node is not None:
            node.metadata["head"] = True

    def _hook(self, roots):
        order, seen, todo = [], set(), [(node, False) for node in roots]
        while todo:
            node, is_left = todo.pop()
            if is_left:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                todo.extend((n, False) for n, _ in node.next_functions if n is not None)
        above = set()  # nodes from which the output of a head can be reached: the loss, not the head itself
        for node in order:
            for below, _ in node.next_functions:
                if below is not None and (below in above or "head" in below.metadata):
                    above.add(node)
            if "hooked" not in node.metadata:
                node.metadata["hooked"] = True
                node.register_prehook(self._reporter(node.name(), node in above))

    def _reporter(self, name, is_above_head):
        observer, accumulates = self.observer, name.endswith("AccumulateGrad")

        def report(gradients):
            observer.brackets.on_this_thread()
            observer.node(name=name, of_logits=is_above_head, accumulates=accumulates)
            if accumulates:
                observer.see(gradients, "gradients")

        return report
