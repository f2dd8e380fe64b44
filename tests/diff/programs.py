# SPDX-License-Identifier: MIT
"""The programs that are edited, and how batch, width and so on are written in each."""
from recording import SOURCE

FOLDERS = (SOURCE / "tests" / "diagnosis" / "programs", SOURCE / "tests" / "workloads")
ADAM = ("adamw(model.parameters()", "torch.optim.RMSprop(model.parameters()")
PROGRAMS = {
    "gpt": {"batch": [("else (8, 256)", "else (10, 256)"), ("else (8, 256)", "else (8, 320)")],
            "width": [("= 384, 6, 6, 16000", "= 480, 6, 6, 16000")], "depth": [("384, 6, 6, 16", "384, 6, 7, 16")],
            "dtype": [("else torch.float32)", "else torch.bfloat16)")], "optimizer": [ADAM],
            "checkpointing": [("x = call(block, x)",
                               "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)")],
            "settings": [('if advised("attention-scores"):', "if torch:")]},
    "mixer": {"batch": [ ("images = torch.zeros(rows, 3", "images = torch.zeros(rows + 2, 3")],
              "width": [("CHANNELS = 64, 512", "CHANNELS = 64, 640")], "depth": [("range(10)", "range(12)")],
              "settings": [('momentum=0.9, foreach=mistake("optimizer-burst")', "momentum=0.0")],
              "checkpointing": [("head(trunk(embed(images).mT)",
                                 "head(torch.utils.checkpoint.checkpoint_sequential(trunk, 5, embed(images).mT, "
                                 "use_reentrant=False)")]},
    "vit": {"width": [("WIDTH, HEADS = 192, 6", "WIDTH, HEADS = 240, 6")], "depth": [("range(6)", "range(7)")],
            "optimizer": [ADAM],
            "checkpointing": [("x = call(encoder, x)",
                               "x = torch.utils.checkpoint.checkpoint(encoder, x, use_reentrant=False)")]},
    "vae": {"batch": [("else 96, 1, 96", "else 128, 1, 96")],
            "optimizer": [("Adam(model.parameters())", "SGD(model.parameters(), 0.1)")]},
    "lstm": {"batch": [("else 4", "else 6")], "width": [("= 30000, 512", "= 30000, 640")],
             "depth": [("num_layers=2", "num_layers=3")],
             "optimizer": [("adamw(model.parameters())", "torch.optim.Adagrad(model.parameters())")]},
    "contrast": {"batch": [("SIZE = 16384", "SIZE = 20480")],
                 "width": [("nn.Linear(3072, 2048), nn.ReLU(), nn.Linear(2048, 512)",
                            "nn.Linear(3072, 1024), nn.ReLU(), nn.Linear(1024, 512)")],
                 "optimizer": [("torch.optim.SGD(query", "torch.optim.Adam(query")]},
    "critic": {"width": [("nn.Linear(2048, 18), nn.Linear(2048, 1)", "nn.Linear(2048, 22), nn.Linear(2048, 1)")],
               "batch": [("rows = 32", "rows = 48")], "optimizer": [("adamw(agent", "torch.optim.RMSprop(agent")]},
    "unet": {"batch": [("torch.zeros(16, 3, 64, 64)", "torch.zeros(24, 3, 64, 64)")], "optimizer": [ADAM],
             "settings": [("with torch.set_grad_enabled(VARIANT", "with torch.set_grad_enabled(True or VARIANT")]},
    "speech": {"batch": [("torch.zeros(16, 80, 400)", "torch.zeros(20, 80, 400)")],
               "width": [("width=320", "width=384")], "depth": [("num_layers=2", "num_layers=1")], "optimizer": [ADAM]},
    "cnn": {"batch": [("torch.zeros(64, 3, 96, 96).cuda(), torch.randint(CLASSES, (64,))",
                       "torch.zeros(80, 3, 96, 96).cuda(), torch.randint(CLASSES, (80,))")],
            "width": [("CLASSES = 200", "CLASSES = 400")],
            "optimizer": [("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9",
                           "torch.optim.Adam(model.parameters()")]},
    "diff_training": {"batch": [('"batch": 4', '"batch": 5'), ('"length": 256', '"length": 320')],
                      "width": [("VOCABULARY = 256, 8", "VOCABULARY = 320, 8")],
                      "depth": [('"layers": 3', '"layers": 4')],
                      "dtype": [('"dtype": "bfloat16"', '"dtype": "float32"')],
                      "optimizer": [('"optimizer": "AdamW"', '"optimizer": "SGD"')],
                      "checkpointing": [('"checkpoint": 0', '"checkpoint": 1')],
                      "settings": [('"attention": "sdpa"', '"attention": "eager"'),
                                   ('"loss": "whole"', '"loss": "chunked"')]},
    "train_mlp": {"batch": [("default=64)", "default=640)")], "width": [("default=1024)", "default=1536)")],
                  "settings": [("momentum=0.9)", "momentum=0.0)")],
                  "optimizer": [("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
                                 "torch.optim.AdamW(model.parameters())")]},
}


def source_of(name):
    return next(f / f"{name}.py" for f in FOLDERS if (f / f"{name}.py").exists()).read_text()
