// SPDX-License-Identifier: MIT
// The bar that stays in sight: which moment, device and owner all views show; and the page's
// address, which keeps them.
import { Store } from "./data";
import { append, el, swatch } from "./dom";
import { colourOf } from "./colours";
import { bytes, count, duration } from "./format";
import { withoutFolder } from "./icicle_drawing";
import { Moment, Moments } from "./moments";
import { change, follow, state } from "./state";

export function nameOf(moment: Moment): string {
  return moment.names.join(", ");
}

/** Without what else the moment is. */
export function shortNameOf(moment: Moment): string {
  return moment.names[0] ?? `event ${moment.event}`;
}

export function placeOf(moment: Moment): string {
  return [moment.place, moment.doing].filter(Boolean).join(", ");
}

function onlyZoom(changed: Set<string>): boolean {
  return changed.size === 1 && changed.has("zoom");
}

export class PinBar {
  private readonly select = el("select", { id: "moment", change: () => this.moments.pin(Number(this.select.value)) });
  private readonly said = el("span", { class: "said", role: "status" });
  private readonly owner = el("span", { class: "chip" });

  constructor(private readonly store: Store, private readonly moments: Moments, before: Element,
              private readonly label: string) {
    const bar = el("nav", { id: "pin", "aria-label": "Moment and selection shown in all views" });
    append(bar, [el("label", { for: "moment" }, "Moment"), this.select,
                 el("button", { type: "button", title: "earlier moment ([)", click: () => moments.step(-1) }, "‹"),
                 el("button", { type: "button", title: "later moment (])", click: () => moments.step(1) }, "›"),
                 this.said, this.devices(), this.owner]);
    before.before(bar);
    this.fill();
    this.show();
    if (label) this.keep();
    follow((_, changed) => {
      if (changed.has("device")) this.fill();
      if (!onlyZoom(changed)) this.show();
      this.keepSoon();
    });
  }

  private devices(): Node | null {
    const devices = this.store.data.series.devices;
    if (devices.length < 2) return null;
    const select = el("select", { "aria-label": "Device", change: () => {
      const device = Number(select.value);
      change({ device, zoom: null, moment: this.moments.ofDevice(devices[device].id)[0] ?? -1 });
    } });
    devices.forEach((device, i) => select.append(el("option", { value: i }, `cuda:${device.id}`)));
    select.value = String(state.device);
    follow(() => { select.value = String(state.device); });
    return select;
  }

  private fill(): void {
    this.select.replaceChildren(...this.moments.ofDevice().map((i) => {
      const moment = this.moments.all[i];
      return el("option", { value: i }, `${nameOf(moment)} · ${bytes(moment.allocated_bytes || moment.device_used_bytes)}`);
    }));
  }

  private show(): void {
    const moment = this.moments.current();
    this.select.value = String(state.moment);
    if (moment) {
      const snapped = this.moments.snapDistance;
      this.said.textContent = `event ${count(moment.event)}, ${duration(moment.time_us)}` +
        (placeOf(moment) ? `, ${placeOf(moment)}` : "") +
        (snapped > 1 ? `; the nearest stored moment, ${count(snapped)} events from the click` : "");
    }
    this.owner.replaceChildren();
    append(this.owner, [
      state.owner && el("button", { type: "button", title: "all owners (Escape)", click: () => change({ owner: "" }) },
                        swatch(colourOf(state.owner)), `only ${state.owner}  ✕`),
      state.search && el("button", { type: "button", title: "all blocks (Escape)", click: () => change({ search: "" }) },
                         `marked: ${withoutFolder(state.search)}  ✕`)]);
  }

  private later = 0;

  /** Browsers count changes of an address, and each costs a frame some of its time: not while one zooms. */
  private keepSoon(): void {
    clearTimeout(this.later);
    this.later = window.setTimeout(() => this.keep(), 250);
  }

  private keep(): void {
    const moment = this.moments.current(), parts = new URLSearchParams();
    if (this.label) parts.set("recording", this.label);
    if (moment) parts.set("at", String(moment.event));
    if (state.device) parts.set("device", String(this.store.data.series.devices[state.device].id));
    if (state.owner) parts.set("owner", state.owner);
    if (state.search) parts.set("search", state.search);
    if (state.axis === "time") parts.set("axis", "time");
    if (state.zoom) parts.set("zoom", state.zoom.join("-"));
    history.replaceState(null, "", `#${parts}`);
  }
}

/** What the address of the page says of this recording, as far as it is true of this recording. */
export function readAddress(store: Store, moments: Moments, label: string): void {
  const address = new URLSearchParams(location.hash.slice(1));
  const parts = (address.get("recording") ?? "") === label ? address : new URLSearchParams();
  const devices = store.data.series.devices;
  const first = store.data.first_moment;
  const wanted = parts.get("device");
  let device = devices.findIndex((one) => (wanted ? one.id === Number(wanted) : one.id === moments.all[first]?.device));
  device = Math.max(0, device);
  const ofDevice = moments.ofDevice(devices[device]?.id);
  const at = parts.get("at"), found = ofDevice.find((i) => moments.all[i].event === Number(at));
  const zoom = /^(\d+)-(\d+)$/.exec(parts.get("zoom") ?? "");
  change({
    device,
    moment: at !== null && found !== undefined ? found : ofDevice.includes(first) ? first : ofDevice[0] ?? -1,
    owner: parts.get("owner") ?? "",
    search: parts.get("search") ?? "",
    axis: parts.get("axis") === "time" ? "time" : "event",
    zoom: zoom && Number(zoom[1]) < Number(zoom[2]) ? [Number(zoom[1]), Math.min(Number(zoom[2]), store.data.series.last_event + 1)] : null,
  });
}
