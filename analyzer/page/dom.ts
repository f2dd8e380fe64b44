// SPDX-License-Identifier: MIT
// Elements; text never becomes markup.
import { visible } from "./format";

type Attributes = { [name: string]: string | number | boolean | EventListener | undefined };
type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, visible(String(value)));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children)
    if (child) element.append(typeof child === "string" ? visible(child) : child);
}

export function swatch(colour: string): HTMLElement {
  const element = el("span", { class: "swatch" });
  element.style.background = colour;
  return element;
}

export function section(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  found.hidden = false;
  return found;
}
