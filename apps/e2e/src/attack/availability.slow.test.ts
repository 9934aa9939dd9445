import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { expect, inject, onTestFinished, test } from 'vitest'
import { isFullRun } from '@rapport/testing/runs.ts'
import { startStack } from '../stack.ts'
import { startSilentNameServer } from '@rapport/testing/network/hostile-parties.ts'
import { type Attack, attackAvailability, describeAttack } from './availability.ts'

const timeout = 600_000
// At the gate, a machine that is busy refuses requests by itself.
const isSkipped = !inject('attack') && !isFullRun
test.skipIf(isSkipped)('a workspace is served while others misuse the installation', { timeout }, async () => {
  const dns = await startSilentNameServer()
  const bouncePort = await findFreePort()
  const stack = await startStack('redis', {
    BOUNCE_HOST: '127.0.0.1',
    BOUNCE_PORT: String(bouncePort),
    RETURN_PATH_DOMAIN: 'bounces.example',
    DNS_SERVER: dns.address,
  })
  onTestFinished(async () => {
    await stack.close()
    dns.close()
  })
  const onEnd = (attack: Attack) => void (inject('attack') && process.stdout.write(`${describeAttack(attack)}\n`))
  const attacks = await attackAvailability(stack, { bouncePort, onEnd })
  expect(attacks.filter(({ refused }) => refused > 0)).toEqual([])
})
