import { LRUCache } from 'lru-cache'
import type { WebhookId, WorkspaceId } from '@rapport/core/kernel/ids.ts'

const maxConcurrency = 20
const defaultSlowMs = 1_000
/** The number of durations that decide whether a receiver is slow. */
const rememberedDurations = 20
const rememberedWorkspaces = 10_000
/** Of a workspace. Deleted webhooks are forgotten when others have attempts. */
const rememberedWebhooks = 200
/** How long a receiver without an attempt counts as active. */
const activeMs = 60_000

/** What a worker remembers of the receiver of a webhook. It is held in memory only: a new worker starts with nothing. */
export interface ReceiverSpeed {
  /** The maximum number of concurrent requests. */
  concurrency: number
  /** The same while another active receiver of the workspace is not slow: see `shareOfSlow`. */
  concurrencyBesideFast: number
  /** The last attempt had no response, or the median of the last response times is above a second. */
  isSlow: boolean
  /** Of the last responses, in milliseconds. */
  durations: readonly number[]
  /** When its last attempts ended, by `performance.now()`. */
  attemptedAt: number
}

export interface ReceiverMemory {
  /** The webhooks of the workspace that had an attempt. */
  read(workspaceId: WorkspaceId): ReadonlyMap<WebhookId, ReceiverSpeed>
  /** Updates the speed of a webhook after a round of attempts. */
  adapt(workspaceId: WorkspaceId, webhookId: WebhookId, round: Round): void
}

type Round = readonly { responseStatus: number | null; durationMs?: number | null }[]

export const initialSpeed: ReceiverSpeed = {
  concurrency: 1,
  concurrencyBesideFast: 1,
  isSlow: false,
  durations: [],
  attemptedAt: Number.NEGATIVE_INFINITY,
}

/** Doubles the concurrency after a round of responses. Resets it to one after a timeout or a failed connection. */
export function nextSpeed(
  { concurrency, durations }: ReceiverSpeed,
  round: Round,
  slowMs = defaultSlowMs,
): ReceiverSpeed {
  const attemptedAt = performance.now()
  const recent = [...durations, ...round.flatMap(({ durationMs }) => durationMs ?? [])].slice(-rememberedDurations)
  if (round.some(({ responseStatus }) => responseStatus === null)) {
    return { concurrency: 1, concurrencyBesideFast: 1, isSlow: true, durations: recent, attemptedAt }
  }
  const median = recent.toSorted((a, b) => a - b)[Math.floor(recent.length / 2)] ?? 0
  const isSlow = median > slowMs
  const next = Math.min(concurrency * 2, maxConcurrency)
  const concurrencyBesideFast = isSlow ? Math.min(next, shareOfSlow(median / slowMs)) : next
  return { concurrency: next, concurrencyBesideFast, isSlow, durations: recent, attemptedAt }
}

/**
 * Of the twenty requests of a workspace, ten for a receiver that takes a second, five for two seconds, and one for ten. A
 * request is in flight until the response: with ten requests in flight, a receiver that takes nine seconds gets one delivery
 * per second, for half of the capacity, and bursts for the fast ones wait for the other half.
 */
const shareOfSlow = (timesAsSlow: number) => Math.ceil(maxConcurrency / 2 / timesAsSlow)

/** Whether the receiver had attempts lately. A deleted webhook, and one without events, has none. */
export const isActive = ({ attemptedAt }: ReceiverSpeed): boolean => performance.now() - attemptedAt < activeMs

/** A receiver with a median response time above `slowMs` is slow. */
export function createReceiverMemory(slowMs = defaultSlowMs): ReceiverMemory {
  const workspaces = new LRUCache<WorkspaceId, Map<WebhookId, ReceiverSpeed>>({ max: rememberedWorkspaces })
  return {
    read: (workspaceId) => workspaces.get(workspaceId) ?? new Map(),
    adapt(workspaceId, webhookId, round) {
      if (round.length === 0) return
      const speeds = workspaces.get(workspaceId) ?? new Map<WebhookId, ReceiverSpeed>()
      const speed = nextSpeed(speeds.get(webhookId) ?? initialSpeed, round, slowMs)
      // At the end, so that the first one had no attempt for the longest time.
      speeds.delete(webhookId)
      speeds.set(webhookId, speed)
      const [oldest] = speeds.keys()
      if (speeds.size > rememberedWebhooks && oldest) speeds.delete(oldest)
      workspaces.set(workspaceId, speeds)
    },
  }
}
