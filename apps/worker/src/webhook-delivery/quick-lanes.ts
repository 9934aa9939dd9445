/** Whoever answers within this is quick. */
const quickMs = 25
/** Of no more: where many lanes are busy, outcomes come together anyway. */
const mostRemembered = 100

/** The webhooks whose receivers were quick when this process last heard of them, as far as it heard of them lately. */
export interface QuickLanes {
  /** Answers whether it was quick. `answeredInMs` is null where there was no answer. */
  note(lane: string, answeredInMs: number | null): boolean
  list(): string[]
}

export function createQuickLanes(): QuickLanes {
  // In the order in which they were heard of last.
  const lanes = new Set<string>()
  return {
    note(lane, answeredInMs) {
      const isQuick = answeredInMs !== null && answeredInMs <= quickMs
      lanes.delete(lane)
      if (isQuick) lanes.add(lane)
      const [oldest = ''] = lanes
      if (lanes.size > mostRemembered) lanes.delete(oldest)
      return isQuick
    },
    list: () => [...lanes],
  }
}
