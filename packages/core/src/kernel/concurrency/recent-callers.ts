/** Remembers who called last. */
export interface RecentCallers<Caller extends string> {
  add(caller: Caller): void
  /** Whether no other caller has called recently. */
  isAlone(caller: Caller): boolean
}

export function createRecentCallers<Caller extends string>(
  recentMs: number,
  now: () => number = () => performance.now(),
): RecentCallers<Caller> {
  interface Call {
    caller: Caller
    at: number
  }
  let last: Call | undefined
  /** The last call that was not by the caller of `last`. */
  let lastOfOthers: Call | undefined
  return {
    add(caller) {
      if (last?.caller !== caller) lastOfOthers = last
      last = { caller, at: now() }
    },
    isAlone(caller) {
      const other = last?.caller === caller ? lastOfOthers : last
      return other === undefined || now() - other.at > recentMs
    },
  }
}
