import { inspectEnvironment } from '@rapport/core/runtime/config.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, option } from '../command.ts'
import { clocksCheck } from '../doctor/clocks.ts'
import { examine, type Finding, findingsAbout } from '../doctor/finding.ts'
import { partitionsCheck } from '../doctor/partitions.ts'
import { postgresCheck } from '../doctor/postgres.ts'
import { publicUrlCheck } from '../doctor/public-url.ts'
import { redisCheck } from '../doctor/redis.ts'
import { secretKeyCheck } from '../doctor/secret-key.ts'
import { senderCheck } from '../doctor/sender.ts'
import { smtpCheck } from '../doctor/smtp.ts'
import { workCheck, workersCheck } from '../doctor/work.ts'
import type { Terminal } from '../terminal.ts'

const checks = [
  [postgresCheck, partitionsCheck, redisCheck, clocksCheck, secretKeyCheck],
  [workersCheck, workCheck, smtpCheck, senderCheck, publicUrlCheck],
].flat()

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Looks at everything that an installation needs, and says what to do',
  options: z.strictObject({
    'dns-server': z
      .string()
      .regex(/^[\da-f.:[\]]+$/i, 'must be an IP address, with a port if need be')
      .optional()
      .meta(option('<address>', 'Asks this name server for SPF, DKIM and DMARC, such as one of the outside')),
    json: z.boolean().default(false).meta(flag('Prints the findings as JSON')),
  }),
  notes: [
    'Run it where the worker runs, with its environment. It changes nothing and sends no mail; the checks run together,',
    'three seconds each. "fail" is what breaks a promise or will not work, "warn" what is worth a look. Exit code 1 when',
    'anything fails.',
  ].join('\n'),
  async run({ environment, terminal }, { 'dns-server': dnsServer, json }) {
    const { config, problems } = inspectEnvironment(environment)
    const about = findingsAbout('Environment')
    const wrong = problems.map(({ name, message }) => about.fail(`${name} ${message}`, 'See .env.example.'))
    const url = config.DATABASE_URL
    const database = url ? openDatabase(url, { applicationName: 'rapport doctor', onError: () => {} }) : undefined
    const dnsServers = dnsServer === undefined ? undefined : [dnsServer]
    const found = await examine({ config, database, dnsServers }, checks)
    const findings = [...(wrong.length > 0 ? wrong : [about.ok('every variable is usable')]), ...found]
    terminal.print(json ? JSON.stringify({ findings }, null, 2) : format(findings, terminal))
    // Not waited for: a server that hangs would never let go.
    database?.close().catch(() => {})
    return findings.some(({ level }) => level === 'fail') ? exitCodes.failed : exitCodes.good
  },
})

const styles = { ok: 'green', warn: 'yellow', fail: 'red' } as const

function format(findings: readonly Finding[], terminal: Terminal): string {
  const width = Math.max(...findings.map(({ about }) => about.length))
  const lines = findings.flatMap(({ level, about, message, advice }) => [
    `${terminal.style(styles[level], level.padEnd(4))}  ${about.padEnd(width)}  ${message}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 8)}${terminal.style('dim', advice)}`]),
  ])
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  return [...lines, '', `${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`].join('\n')
}
