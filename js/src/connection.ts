// Whether the kernel of this chat can be reached, from what the host and the answers tell.

/** `saved`: a transcript without a kernel that ever answered; `waiting`: the kernel is there but busy. */
export type ConnectionState =
  | "connecting"
  | "live"
  | "waiting"
  | "reconnecting"
  | "disconnected"
  | "saved";

interface Signal {
  connect(slot: (sender: unknown, args: unknown) => void): unknown;
  disconnect(slot: (sender: unknown, args: unknown) => void): unknown;
}

interface Kernel {
  status?: string;
  connectionStatus?: string;
  statusChanged?: Signal;
  connectionStatusChanged?: Signal;
}

const GONE = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/** The kernel connection of hosts built on JupyterLab; null in every other host. */
function kernelOf(widgetManager: unknown): Kernel | null {
  try {
    const kernel = (widgetManager as { kernel?: Kernel } | null | undefined)?.kernel;
    return kernel && typeof kernel === "object" ? kernel : null;
  } catch {
    return null;
  }
}

export interface HostEvents {
  gone(): void;
  linkLost(): void;
  linkBack(): void;
  busyChanged(): void;
}

/** Follows the host's kernel connection; every part of it may be missing. */
export class HostKernel {
  readonly #kernel: Kernel | null;
  readonly #events: HostEvents;

  constructor(widgetManager: unknown, events: HostEvents) {
    this.#kernel = kernelOf(widgetManager);
    this.#events = events;
    this.#each((signal, slot) => signal.connect(slot));
  }

  get known(): boolean {
    return this.#kernel !== null;
  }

  get busy(): boolean {
    return this.#kernel?.status === "busy";
  }

  dispose(): void {
    this.#each((signal, slot) => signal.disconnect(slot));
  }

  #each(act: (signal: Signal, slot: (sender: unknown, args: unknown) => void) => void): void {
    try {
      if (this.#kernel?.statusChanged) act(this.#kernel.statusChanged, this.#onStatus);
      if (this.#kernel?.connectionStatusChanged) {
        act(this.#kernel.connectionStatusChanged, this.#onConnection);
      }
    } catch {
      // A disposed kernel throws from its signals; there is nothing left to follow then.
    }
  }

  #onStatus = (_sender: unknown, status: unknown): void => {
    if (typeof status === "string" && GONE.has(status)) this.#events.gone();
    else this.#events.busyChanged();
  };

  #onConnection = (_sender: unknown, status: unknown): void => {
    if (status === "connecting") this.#events.linkLost();
    else if (status === "connected") this.#events.linkBack();
    else if (status === "disconnected") this.#events.gone();
  };
}
