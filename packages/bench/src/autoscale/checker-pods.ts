import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { Stage } from '../stage.ts';
import type { Pod, PodUsage } from './horizontal-pod-autoscaler.ts';

interface CheckerPod extends Pod {
  readyAt: number | null;
  process?: ServiceProcess;
  /** The last sample of its CPU time. */
  sample?: { readonly at: number; readonly cpuMs: number };
}

/** Checkers as processes that are added and removed as a Deployment does with pods. */
export class CheckerPods {
  /** The service discovery of Prometheus. */
  readonly targetsFile: string;
  readonly #stage: Stage;
  readonly #graceMs: number;
  #pods: CheckerPod[] = [];
  #started = 0;
  #killed = 0;
  /** Checkers that are starting or stopping. */
  readonly #changes = new Set<Promise<void>>();
  #error: unknown;

  /** @param graceSeconds how long a checker may take to stop before it is killed */
  constructor(stage: Stage, graceSeconds: number) {
    this.#stage = stage;
    this.#graceMs = graceSeconds * 1_000;
    this.targetsFile = join(stage.system.folder, 'checkers.json');
  }

  /** Without those that are stopping. */
  get pods(): readonly Pod[] {
    return this.#pods;
  }

  /** How many checkers did not stop in time. */
  get killed(): number {
    return this.#killed;
  }

  /** Starts checkers, or stops the newest ones, as a ReplicaSet does. @throws Error if an earlier change failed */
  scaleTo(replicas: number): void {
    this.#throwIfFailed();
    for (const pod of this.#pods.splice(replicas)) this.#change(this.#stop(pod));
    while (this.#pods.length < replicas) {
      const pod: CheckerPod = {
        name: `checker ${(this.#started += 1)}`,
        startedAt: Date.now(),
        readyAt: null,
      };
      this.#pods.push(pod);
      this.#change(this.#start(pod));
    }
  }

  /** Resolves when no checker is starting or stopping. @throws Error if one did not start */
  async settle(): Promise<void> {
    await Promise.all(this.#changes);
    this.#throwIfFailed();
  }

  /** The CPU usage since the previous call, as metrics-server reports it: for pods that had started by then. */
  sampleUsage(): ReadonlyMap<string, PodUsage> {
    const usage = this.#stage.usage();
    const at = Date.now();
    const usages = new Map<string, PodUsage>();
    for (const pod of this.#pods) {
      const cpuMs = usage.get(pod.name)?.cpuMs;
      if (cpuMs === undefined) continue;
      if (pod.sample !== undefined) {
        const windowMs = at - pod.sample.at;
        usages.set(pod.name, { at, windowMs, cores: (cpuMs - pod.sample.cpuMs) / windowMs });
      }
      pod.sample = { at, cpuMs };
    }
    return usages;
  }

  async #start(pod: CheckerPod): Promise<void> {
    const started = await this.#stage.startService(pod.name);
    pod.process = started;
    this.#writeTargets();
    await until(`${pod.name} to be ready`, () => started.isReady());
    pod.readyAt = Date.now();
  }

  async #stop({ name, process }: CheckerPod): Promise<void> {
    this.#writeTargets();
    const kill = setTimeout(() => {
      this.#killed += 1;
      void process?.signal('SIGKILL');
    }, this.#graceMs);
    await process?.signal('SIGTERM');
    clearTimeout(kill);
    this.#stage.forget(name);
  }

  /** Synchronous, because several checkers start at the same time. */
  #writeTargets(): void {
    const targets = this.#pods.flatMap(({ process }) =>
      process === undefined ? [] : [`127.0.0.1:${process.healthPort}`],
    );
    const unfinished = `${this.targetsFile}.new`;
    writeFileSync(unfinished, JSON.stringify([{ targets }]));
    renameSync(unfinished, this.targetsFile);
  }

  #change(change: Promise<void>): void {
    const handled = change.catch((error: unknown) => {
      this.#error ??= error;
    });
    this.#changes.add(handled);
    void handled.then(() => this.#changes.delete(handled));
  }

  #throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }
}
