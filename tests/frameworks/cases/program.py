# SPDX-License-Identifier: MIT
"""What a program may say about itself: as in tests/accuracy, but no marks are left: programs of users have none.

A case has, beside the options of tests/accuracy/cases/stage.py:
  steps          how many steps its optimizers take, by construction
  micro_batches  in how many passes each of them; 1 where nothing is said
  stages         the stages that it has, of those in frameworks.STAGES
  ranks          how many processes; the first is recorded
  vocabulary     in compiled code, whose insides no hook sees, what a row of scores has: births of whole rows are logits
  casts          True: in code compiled under autocast, births of half a matrix of weights are its copy
  quick          True: runs in every scripts/test
"""
import stage as told
from stage import case, head, main, stage, watch

told._mark = None
__all__ = ["case", "head", "main", "stage", "watch"]
