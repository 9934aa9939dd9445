/** Imports and code that only certain files may contain. */
import { expect, test } from 'vitest'
import { core, coreSources, findCode, findImports, sourceFiles } from './source-files.ts'

const routes = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/api/src/routes/') && !isTest)

test('only the API, the benchmarks and an example import fastify', () => {
  const isFastify = (name: string) => /(^|\/)@?fastify/.test(name)
  const homes = ['apps/api', 'apps/bench', 'examples/webhook-receiver']
  expect(findImports(sourceFiles, ({ home }, name) => isFastify(name) && !homes.includes(home))).toEqual([])
})

test('only the worker and the queues of the API import bullmq', () => {
  const isAllowed = (path: string) => /^apps\/(worker|api\/src\/queues)\//.test(path)
  expect(findImports(sourceFiles, ({ path }, name) => /^bullmq(\/|$)/.test(name) && !isAllowed(path))).toEqual([])
})

test('only the configuration and the examples read environment variables', () => {
  const otherFiles = sourceFiles.filter(
    ({ path }) => path !== `${core}runtime/config.ts` && !/^(packages\/testing|examples)\//.test(path),
  )
  expect(findCode(otherFiles, /process\.env\b|\benv\b.*from 'node:process'/)).toEqual([])
})

/** The worker has two main programs, one of them for tests. */
const otherPrograms = ['apps/worker/src/process/run-worker.ts', 'packages/testing/src/run-tests.ts']

test('only main programs call process.exit and handle signals', () => {
  const otherFiles = sourceFiles.filter(({ path }) => !path.endsWith('/main.ts') && !otherPrograms.includes(path))
  expect(findCode(otherFiles, /process\.(exit|abort)\(|process\.\w+\(\s*['"`]SIG/)).toEqual([])
})

test("transactions use transaction.ts, not Drizzle's own method", () => {
  expect(findCode(sourceFiles, /\.transaction\(/)).toEqual([])
})

/** Files whose statements are not declared yet. */
const withoutDeclarations: string[] = [
  'packages/core/src/backups/backup-session.ts',
  'packages/core/src/backups/database-contents.ts',
  'packages/core/src/backups/server-databases.ts',
  'packages/core/src/campaigns/campaign-stats.ts',
  'packages/core/src/campaigns/contact/list-campaigns-of-contact.ts',
  'packages/core/src/campaigns/lifecycle.ts',
  'packages/core/src/campaigns/list-recipients.ts',
  'packages/core/src/campaigns/recipient-counters.ts',
  'packages/core/src/campaigns/send-campaign.ts',
  'packages/core/src/campaigns/sending-report/read-audience.ts',
  'packages/core/src/campaigns/sending-statements.ts',
  'packages/core/src/contacts/listing/newest-contacts.ts',
  'packages/core/src/contacts/listing/search-contacts.ts',
  'packages/core/src/contacts/touch-last-activity.ts',
  'packages/core/src/contacts/write-contacts.ts',
  'packages/core/src/db/client.ts',
  'packages/core/src/db/database-facts.ts',
  'packages/core/src/db/distribution/distribute.ts',
  'packages/core/src/db/distribution/estimate-rows.ts',
  'packages/core/src/db/json-rows.ts',
  'packages/core/src/db/partitions.ts',
  'packages/core/src/db/pool/pooler.ts',
  'packages/core/src/db/prepared-query.ts',
  'packages/core/src/db/server-version.ts',
  'packages/core/src/db/snapshot.ts',
  'packages/core/src/events/emit.ts',
  'packages/core/src/events/insert-with-events.ts',
  'packages/core/src/lists/bulk-subscribe-contacts.ts',
  'packages/core/src/lists/move-subscriptions.ts',
  'packages/core/src/mail/mail-rate.ts',
  'packages/core/src/operations/overviews/campaign-overview.ts',
  'packages/core/src/operations/overviews/nearly-used-quotas.ts',
  'packages/core/src/operations/overviews/work-metrics.ts',
  'packages/core/src/operations/overviews/work-summary.ts',
  'packages/core/src/operations/recovery/restored-backup.ts',
  'packages/core/src/pipelines/pipeline-summary.ts',
  'packages/core/src/request/count-or-estimate.ts',
  'packages/core/src/subscriptions/consent-emails.ts',
  'packages/core/src/webhooks/delivery-log.ts',
  'packages/core/src/webhooks/drain/abandoned-deliveries.ts',
  'packages/core/src/webhooks/drain/drain-claim.ts',
  'packages/core/src/webhooks/drain/recover-drain.ts',
  'packages/core/src/webhooks/redact-deliveries.ts',
  'packages/core/src/work/enqueue.ts',
  'packages/core/src/work/publish.ts',
]

test('rows of statements have declared columns, not an asserted type', () => {
  const others = sourceFiles.filter(
    ({ path, isTest }) =>
      /^packages\/core\/|^apps\/(api|worker|cli|local)\/src\//.test(path) &&
      !isTest &&
      !withoutDeclarations.includes(path),
  )
  expect(findCode(others, /\.(execute|query)<|\bpreparedSql<|\.rows as\b/)).toEqual([])
})

test('only db/distribution has code for Citus', () => {
  const others = coreSources.filter(({ path, isTest }) => !isTest && !path.startsWith(`${core}db/distribution/`))
  expect(findCode(others, /citus/i)).toEqual([])
})

test('core contains no HTTP status codes and imports no HTTP client or server', () => {
  expect(findCode(coreSources, /\bstatusCode\b|\.(status|code)\(\s*\d{3}\s*\)|\bstatus: [1-5]\d\d\b/)).toEqual([])
  expect(findImports(coreSources, (_file, name) => /^(node:)?https?$|^undici$/.test(name))).toEqual([])
})

test('routes contain no SQL', () => {
  const isDatabase = (name: string) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name)
  expect(findImports(routes, (_file, name) => isDatabase(name))).toEqual([])
  expect(findCode(routes, /\bctx\.db\b/)).toEqual([])
})

test('CLI commands contain no SQL', () => {
  const cli = sourceFiles.filter(({ path, isTest }) => path.startsWith('apps/cli/') && !isTest)
  expect(findImports(cli, (_file, name) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/db\/schema\//.test(name))).toEqual(
    [],
  )
  // A checksum has an update method too.
  expect(findCode(cli, /(?<!\bhash)\.(query|execute|select|insert|update|delete)\(/)).toEqual([])
})

test('only main programs use process.stdout, stderr, stdin and argv', () => {
  const otherFiles = sourceFiles.filter(
    ({ path, isTest }) => /^apps\/(cli|api|worker)\//.test(path) && !isTest && !path.endsWith('/main.ts'),
  )
  expect(findCode(otherFiles, /process\.(stdout|stderr|stdin|argv)\b/)).toEqual([])
})

/** Inner modules that the documentation of their library names. */
const documentedInnerModules = ['nodemailer/lib/smtp-connection', 'nodemailer/lib/mail-composer']

test('no file imports undocumented modules, and only *-patch.ts files patch libraries', () => {
  const isInner = (name: string) => /^(@[\w-]+\/)?[\w-]+\/(lib|dist|src|internal)\//.test(name)
  expect(findImports(sourceFiles, (_file, name) => isInner(name) && !documentedInnerModules.includes(name))).toEqual([])

  const otherFiles = sourceFiles.filter(({ path, isTest }) => !isTest && !path.endsWith('-patch.ts'))
  expect(findCode(otherFiles, /\bprototype\b|\bReflect\.(set|defineProperty)\(|\.setPrototypeOf\(|\._\./)).toEqual([])
})
