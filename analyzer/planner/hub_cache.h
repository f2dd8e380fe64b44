/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HUB_CACHE_H
#define VT_ANALYZER_HUB_CACHE_H

/*
 * Hugging Face's local cache, where a model's name ("org/model") has a folder: what `refs/main`
 * names below HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
 * ~/.cache/huggingface/hub (huggingface_hub's constants.py).  Nothing is fetched.
 */

/* The folder of its files; free().  NULL: it is no such name, or is not in the cache. */
char *vt_hub_cache_find(const char *name);

#endif
