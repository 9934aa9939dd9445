/** The rules of the house that a look at the source can check: who imports whom, and who does what. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import * as schema from '@rapport/core/db/schema/index.ts'

const root = resolve(import.meta.dirname, '../../../..')
const core = 'packages/core/src/'
const testing = `${core}testing/`

const files = globSync('{apps,packages}/*/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] }).map((path) => {
  const code = withoutComments(readFileSync(join(root, path), 'utf8'))
  return { path, code, home: path.split('/').slice(0, 2).join('/'), isTest: path.endsWith('.test.ts') }
})
const ofCore = files.filter(({ path }) => path.startsWith(core) && !path.startsWith(testing))
const routes = files.filter(({ path, isTest }) => path.startsWith('apps/api/src/routes/') && !isTest)

/** Who may write a table: folders and files of core, unless they start with "apps/". */
const owners: Record<string, string[]> = {
  workspaces: ['auth/', 'team/'],
  users: ['auth/'],
  members: ['auth/', 'team/'],
  sessions: ['auth/'],
  apiKeys: ['auth/'],
  invites: ['team/'],
  passwordResets: ['auth/'],
  loginFailures: ['auth/'],
  auditEntries: ['audit/'],
  idempotencyRecords: ['idempotency.ts', 'apps/api/src/http/idempotency.ts'],
  contacts: ['contacts/'],
  customFields: ['contacts/'],
  contactAliases: ['contacts/'],
  lists: ['lists/'],
  subscriptions: ['lists/'],
  optOuts: ['lists/'],
  suppressions: ['lists/'],
  forms: ['forms/'],
  formSubmissions: ['forms/'],
  pipelines: ['pipelines/'],
  stages: ['pipelines/'],
  deals: ['deals/'],
  dealMoves: ['deals/'],
  tasks: ['tasks/'],
  // workers.ts marks as interrupted, in every table with claims, what a dead worker had claimed; restored-work.ts does
  // the same with what a backup brings back.
  campaigns: ['campaigns/', 'restored-work.ts'],
  campaignBatches: ['campaigns/', 'workers.ts'],
  campaignRecipients: ['campaigns/', 'workers.ts', 'restored-work.ts'],
  imports: ['imports/', 'workers.ts'],
  importParts: ['imports/'],
  importSeen: ['imports/'],
  mails: ['mail/', 'workers.ts', 'restored-work.ts'],
  mailReports: ['mail/'],
  mailPace: ['mail/'],
  webhooks: ['webhooks/'],
  events: ['events.ts'],
  // An event and what is due for it are one statement.
  deliveries: ['webhooks/', 'events.ts', 'workers.ts', 'restored-work.ts'],
  // So are a delivery's outcome and the end of its work.
  outbox: ['outbox.ts', 'webhooks/settlement.ts', 'webhooks/abandoned-deliveries.ts'],
  workers: ['workers.ts'],
}

test('packages and apps import core, their own files and libraries, never an app', () => {
  const isForeign = (path: string, home: string, name: string) =>
    name.startsWith('.')
      ? !join(dirname(path), name).startsWith(`${home}/`)
      : name.startsWith('@rapport/') && !name.startsWith('@rapport/core/')
  expect(findImports(files, ({ path, home }, name) => isForeign(path, home, name))).toEqual([])
})

test('core imports itself by its files, not by its own name', () => {
  expect(findImports(ofCore, (_file, name) => name.startsWith('@rapport/'))).toEqual([])
})

test('fastify lives in the api only, and where the api is measured against it', () => {
  const isFastify = (name: string) => /(^|\/)@?fastify/.test(name)
  expect(findImports(files, ({ home }, name) => isFastify(name) && !['apps/api', 'apps/bench'].includes(home))).toEqual(
    [],
  )
})

test('bullmq lives in the worker, and in the api for the dashboard', () => {
  const mayQueue = (path: string) => path.startsWith('apps/worker/') || path === 'apps/api/src/http/dashboard.ts'
  expect(findImports(files, ({ path }, name) => /^bullmq(\/|$)/.test(name) && !mayQueue(path))).toEqual([])
})

test('the environment is read in the configuration only', () => {
  const others = files.filter(({ path }) => path !== `${core}config.ts` && !path.startsWith(testing))
  expect(findCode(others, /process\.env\b|\benv\b.*from 'node:process'/)).toEqual([])
})

test('only main programs exit and listen to signals', () => {
  const others = files.filter(({ path }) => !path.endsWith('/main.ts') && path !== `${testing}run-tests.ts`)
  expect(findCode(others, /process\.(exit|abort)\(|process\.\w+\(\s*['"`]SIG/)).toEqual([])
})

test('transactions are opened by transaction.ts, never by Drizzle', () => {
  expect(findCode(files, /\.transaction\(/)).toEqual([])
})

test('core uses no private member of Drizzle and patches no library', () => {
  expect(findCode(ofCore, /\bdb\._\b|Reflect\.set\(|\.prototype\b|\{ prototype \}/)).toEqual([])
})

test('core knows no HTTP', () => {
  expect(findCode(ofCore, /\bstatusCode\b|\.(status|code)\(\s*\d{3}\s*\)|\bstatus: [1-5]\d\d\b/)).toEqual([])
  expect(findImports(ofCore, (_file, name) => /^(node:)?https?$|^undici$/.test(name))).toEqual([])
})

test('a route knows no SQL', () => {
  const isDatabase = (name: string) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/schema\.ts$/.test(name)
  expect(findImports(routes, (_file, name) => isDatabase(name))).toEqual([])
  expect(findCode(routes, /\bctx\.db\b/)).toEqual([])
})

test('a command knows no SQL, and reaches the API over HTTP only', () => {
  const cli = files.filter(({ path, isTest }) => path.startsWith('apps/cli/') && !isTest)
  expect(findImports(cli, (_file, name) => /^(drizzle-orm|pg)(\/|$)|^@rapport\/core\/schema\.ts$/.test(name))).toEqual(
    [],
  )
  expect(findCode(cli, /\.(query|execute|select|insert|update|delete)\(/)).toEqual([])
})

test('only a main program writes to a terminal; a command speaks through the one it is given', () => {
  const others = files.filter(
    ({ path, isTest }) => /^apps\/(cli|api|worker)\//.test(path) && !isTest && !path.endsWith('/main.ts'),
  )
  expect(findCode(others, /process\.(stdout|stderr|stdin|argv)\b/)).toEqual([])
})

/** Modules that a library documents although its main module does not export them. */
const documentedInnerModules = ['nodemailer/lib/smtp-connection', 'nodemailer/lib/mail-composer']
/** Still use private members, until db.ts and prepared.ts are rewritten. */
const patchesAllowed = [`${core}db.ts`, `${core}prepared.ts`]

test('libraries are used by their documented interfaces, and patched in files named -patch.ts only', () => {
  const isInner = (name: string) => /^(@[\w-]+\/)?[\w-]+\/(lib|dist|src|internal)\//.test(name)
  expect(findImports(files, (_file, name) => isInner(name) && !documentedInnerModules.includes(name))).toEqual([])

  const others = files.filter(
    ({ path, isTest }) => !isTest && !path.endsWith('-patch.ts') && !patchesAllowed.includes(path),
  )
  expect(findCode(others, /\bprototype\b|\bReflect\.(set|defineProperty)\(|\.setPrototypeOf\(|\._\./)).toEqual([])
})

test('every table has an owner', () => {
  const tables = Object.entries(schema).filter(([, value]) => is(value, Table))
  expect(Object.keys(owners).toSorted()).toEqual(tables.map(([name]) => name).toSorted())
})

test('only its owner writes a table', () => {
  const writes = /(?:\.(?:insert|update|delete)\(\s*|\b(?:insert into|update|delete from)\s+(?:\$\{)?)(\w+)/gi
  const found = files
    .filter(({ path, isTest }) => !isTest && !path.startsWith(testing) && !/^apps\/(e2e|bench)\//.test(path))
    .flatMap(({ path, code }) =>
      [...code.matchAll(writes)].flatMap(([write, name = '']) => {
        const table = name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())
        const isOwner = owners[table]?.some((owner) =>
          path.startsWith(owner.startsWith('apps/') ? owner : core + owner),
        )
        return table in owners && !isOwner ? [`${path}: ${write}`] : []
      }),
    )
  expect(found).toEqual([])
})

type File = (typeof files)[number]

function findImports(among: File[], isWrong: (file: File, name: string) => boolean): string[] {
  const imports = /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g
  return among.flatMap((file) =>
    [...file.code.matchAll(imports)]
      .filter(([, name = '']) => isWrong(file, name))
      .map(([, name]) => `${file.path}: ${name}`),
  )
}

function findCode(among: File[], pattern: RegExp): string[] {
  const lines = ({ path, code }: File) => code.split('\n').map((line) => `${path}: ${line.trim()}`)
  return among.flatMap((file) => lines(file).filter((line) => pattern.test(line)))
}

/** Line comments only where no string can be meant, such as an address. */
function withoutComments(code: string): string {
  return code.replace(/\/\*[^]*?\*\//g, '').replace(/(^|\s)\/\/ .*$/gm, '$1')
}
