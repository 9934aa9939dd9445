import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { chooseBackends, type QueueBackend, startStack } from '../stack.ts'
import { attack } from './attack.ts'
import { describeFindings } from './findings.ts'

declare module 'vitest' {
  interface ProvidedContext {
    attack: { seed: number; seconds: number; backend: QueueBackend } | undefined
  }
}

/** Given by `pnpm attack`. */
const given = inject('attack')
const seed = given?.seed ?? chooseSeed(7)
const seconds = given?.seconds ?? countRuns({ gate: 5, full: 120 })
// At the gate, a machine that is busy may stop a worker for seconds: only what was said before a campaign counts.
const permittedMs = given ? 1_500 : 30_000
const backends = given ? [given.backend] : chooseBackends({ gate: 'redis' })

describe.each(backends)('with the queues in %s', (backend) => {
  const timeout = 300_000 + seconds * 1_000
  test(`no mail, response or event is against what a person said (seed ${seed})`, { timeout }, async () => {
    const stack = await startStack(backend)
    onTestFinished(() => stack.close())
    await stack.startWorker()
    const result = await attack(stack, { seed, seconds, permittedMs, isLong: seconds >= 30 })
    const described = describeFindings(result.findings, result.lists)
    const { requests, mails, people, endMs } = result
    const summary = `seed ${seed}: ${requests} requests for ${people} people, ${mails} mails, ended after ${endMs} ms`
    if (given) process.stdout.write(`${[summary, ...described].join('\n\n')}\n`)
    expect(mails).toBeGreaterThan(0)
    expect(described).toEqual([])
  })
})
