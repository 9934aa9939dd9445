import { setTimeout as sleep } from 'node:timers/promises'

/** What `answer` answers; rejects when it takes more than two seconds: a server that hangs is as good as away. */
export async function withTimeout<Result>(answer: Promise<Result>, patienceMs = 2_000): Promise<Result> {
  const patience = new AbortController()
  const late = sleep(patienceMs, undefined, { signal: patience.signal, ref: false }).then(() => {
    throw new Error(`No answer within ${patienceMs} ms`)
  })
  late.catch(() => {})
  return Promise.race([answer, late]).finally(() => patience.abort())
}
