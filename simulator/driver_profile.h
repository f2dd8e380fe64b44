/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_PROFILE_H
#define VTS_DRIVER_PROFILE_H

/*
 * Which card is simulated: VTRACE_SIM_PROFILE="NAME[,key=value...]" over profiles.ini, which lies
 * beside this library, or "FILE.ini[,key=value...]".  Read once, before the first answer.
 */

#include "common/card_profile.h"

/*
 * Never NULL.  An unknown name or a bad option is reported on stderr once; the simulator then goes
 * on with no device at all (nr_devices 0), so that a wrong name never yields figures of another
 * card.
 */
const struct vt_card_profile *vts_profile_get(void);

#endif
