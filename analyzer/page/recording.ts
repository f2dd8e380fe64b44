// SPDX-License-Identifier: MIT
// The views of the recording that is looked at.
import { Blocks } from "./blocks";
import { learnOwners } from "./colours";
import { Store } from "./data";
import { section } from "./dom";
import { IcicleView } from "./icicle";
import { LifetimesView } from "./lifetimes";
import { linkRows } from "./links";
import { Moments } from "./moments";
import { OwnersView } from "./owners";
import { PinBar, readAddress } from "./pin";
import { SegmentsView } from "./segments";
import { Series } from "./series";
import { showStages } from "./stages";
import { change, follow, forget, state } from "./state";
import { TimeView } from "./time";

export class Recording {
  readonly moments: Moments;
  private readonly blocks: Blocks;

  /** Fills the elements of its part of the page. `label`: its name on a page of several. */
  constructor(private readonly store: Store, label = "") {
    const devices = store.data.series.devices;
    forget();
    this.moments = new Moments(store);
    this.blocks = new Blocks(store, this.moments);
    learnOwners(devices.flatMap((device) => device.owners.filter((owner): owner is string => owner !== null)));
    if (devices.length) this.makeViews(label);
    // For scripts and tests.
    Object.assign(window, { vtrace: { data: store.data, report: store.data.report, state, change, moments: this.moments,
                                      blocks: this.blocks, store, label } });
  }

  private makeViews(label: string): void {
    const { store, moments, blocks } = this, series = new Map<number, Series>();
    const seriesOf = (i: number) => {
      const found = series.get(i) ?? new Series(store, i);
      series.set(i, found);
      return found;
    };
    readAddress(store, moments, label);
    new PinBar(store, moments, section("time"), label);
    const time = new TimeView(store, seriesOf(state.device), moments);
    new OwnersView(moments);
    new IcicleView(blocks, moments);
    new SegmentsView(blocks, moments);
    const lifetimes = new LifetimesView(blocks, moments, seriesOf(state.device));
    follow((_, changed) => {
      if (!changed.has("device")) return;
      time.setSeries(seriesOf(state.device));
      lifetimes.setSeries(seriesOf(state.device));
    });
    showStages(store, moments);
    linkRows(moments, store.data.series.last_event);
  }

  readAddress(label: string): void {
    if (this.store.data.series.devices.length) readAddress(this.store, this.moments, label);
  }
}
