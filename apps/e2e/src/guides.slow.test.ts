import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { newSecret, signBody } from '@rapport/core/webhooks/signature.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { findProgram, unpackDebianPackage } from '@rapport/testing/processes/debian-package.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readExamples, runExamples, stopReceiver } from './printed-examples.ts'
import { type Stack, startStack } from './stack.ts'

const guides = resolve(import.meta.dirname, '../../../docs/guides')

/** What the examples of each guide print. */
const expected: Record<string, (string | RegExp)[]> = {
  index: ['"email": "grace@example.com"', '"emailSubscribedStatus": "NONE"'],
  // Its programs are compiled by typescript-examples.slow.test.ts.
  typescript: [],
  authentication: [
    '"key": "rpk_',
    '"kind": "apiKey"',
    '"role": "VIEWER"',
    '"unauthorized"',
    '["joan@example.com","MEMBER"]',
  ],
  requests: [
    '"email: must be an email address such as ada@example.com: a space is not allowed; in a URL, send a plus sign as %2B"\n"grace+news@example.com"\n',
    'allow: GET, HEAD, POST',
  ],
  errors: ['"statusCode": 400', '"code": "validation_error"', '"path": "email"', 'firstname'],
  paging: [/reader5@.+\nreader4@.+\nreader3@.+\nreader2@.+\nreader1@.+\n5\n/],
  limits: [
    'x-ratelimit-limit: 100',
    'x-ratelimit-remaining: 99',
    /"processed": 2,\n *"created": 2/,
    '"CREATED"\n"FAILED"',
  ],
  idempotency: [
    /201 Created[^]+"id"[^]+201 Created[^]+idempotent-replayed: true[^]+"id"/,
    '201\n200\n',
    '"Langley"\n"precondition_failed"',
  ],
  contacts: [
    '[["trial"],{"plan":"pro"}]\n["trial","customer"]\n["customer"]\n"already_exists"\n"con_',
    '["Radia","Perlman"]\n["FAILED","must be one of free, pro"]\n["CREATED",null]\n',
    '["radia@example.com","+44 20 7946 0958"]',
    '[2,0,[{"line":3,"message":"customFieldValues.plan: must be one of free, pro; left out"}]]',
    'email,firstName,lastName\nradia@example.com,Radia,Perlman\n',
  ],
  identity: ['"edsger@example.com"\n["user_1930","e.dijkstra@example.com"]\ntrue\n[1,0]\n'],
  segments: [
    '[1,false,"radia@example.com"]\nradia@example.com\n',
    '{"path":"filter.any.0.eq","message":"\\"pr0\\" is not an option (did you mean \\"pro\\"?)"}',
    '{"path":"filter.any.1.field","message":"unknown field \\"compny\\" (did you mean \\"company\\"?)"}\nradia@example.com\n',
  ],
  companies: [
    'engines.example\n["Analytical Engines","org_1837"]\n["UPDATED","CREATED","FAILED"]\n',
    '1\norg_1837\n"COMPANY"\n{"tier":"gold"}\n0\n["company.created","company.updated"]\n204\n',
  ],
  deals: [
    /"OPEN"\n\{[^}]*"valueCents": 1700000,[^}]*"weightedValueCents": 680000,[^}]*\}\n\["WON",true\]\n2\n"Price"\n1\n"DEAL"\n\{"seats":25\}\n1\n\{\n  "won": 0,[^}]*\}\n"WON"\n"WON"\n\["WON",900000,""\]\n"Call Hedy back"\ntrue\n/,
  ],
  notes: [
    /\["CALL","2026-12-01T09:30:00.000Z",null\]\ntrue\n/,
    '["MEETING","CALL"]"Asked for an offer for 25 seats."\n"Asked for an offer for 30 seats."\n',
    '["She signs next week.",null]\n"Note not found"\n',
  ],
  emails: [
    /verify\/x[^]+\ntrue\n/,
    '["SENT","HARD"]\n["opted_out",',
    'true\n"COMPLAINED"\n',
    '["SENT","REQUEST",1]\n',
    '"audit_entries.subject_id"\n',
    '["SENT",null]\n',
  ],
  forms: [
    '<h1>Contact us</h1>',
    '["nmae","unknown field (did you mean \\"name\\"?)"]',
    '["Frances",["website"],"form:Contact us"]',
    '[{"fieldId":"consent","wording":"Send me the monthly newsletter"}]\n"PENDING"\ntrue\n1\n',
  ],
  webhooks: [
    'received contact.created margaret@example.com',
    '"from": "margaret@example.com"',
    '{"changed":["email","firstName"]}',
    '"responseStatus": 204',
    '"deal.won"',
    'read contact.created grace@example.com',
  ],
  'webhook-delivery': [/\n\d+\n/],
  newsletters: [
    '"CONFIRMED"',
    'News for Langley',
    'Hello Dorothy',
    /\{"queued":1\}\n1\n1\n\{\n *"queued": 1/,
    /\n\[\]/,
  ],
  'sending-domain': ['"DKIM"', '"PENDING"\n"Unknown, because no name server answered', '"hello@engines.example"'],
  consent: [
    '"success": true',
    '"status": "PENDING"',
    '"CONFIRMED"',
    'SUBSCRIBED',
    /"created": 1,\n *"skipped": 1\n\}\n2\n/,
  ],
  moving: [
    /(2|1) addresses compared\nwidened \(.+\): 0\nlost \(.+\): 0\n/,
    /^(?:(?!widened \([^)]*\): [1-9])[^])*$/,
    /^(?:(?!lost \([^)]*\): [1-9])[^])*$/,
  ],
  leaving: ['"email","reason","listId","saidAt"\n'],
  agents: [
    'search_contacts\nget_contact\nsearch_companies\nget_company\nlist_notes\nlist_suppressions\nlist_lists\n',
    'unknown field (did you mean \\"search\\"?)',
  ],
  languages: [
    '"en-GB"\n"de-AT"\n',
    '<h1>Passwort vergessen?</h1>',
    'true\n"de-CH"\n',
    '"Bitte füllen Sie dieses Feld aus."',
  ],
  imports: ['[1,0]\n"Bridges"', '"QUEUED"'],
  // Its examples are rendered by template-docs.test.ts.
  templates: [],
  privacy: ['"nextCursor"'],
}
const slugs = Object.keys(expected)

let stack: Stack
let folder: string
let path: string
/** What was printed, by guide. */
let printed: Record<string, string>
beforeAll(async () => {
  stack = await startStack('postgres')
  folder = mkdtempSync(join(tmpdir(), 'rapport-guides-'))
  const root = resolve(import.meta.dirname, '../../..')
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const jq = (await findProgram(['jq'])) ?? (await unpackDebianPackage({ name: 'jq', program: 'usr/bin/jq' }))
  if (jq === undefined) throw new Error('The examples need jq: install it, for example with "brew install jq"')
  path = `${dirname(process.execPath)}:${dirname(jq)}:${join(root, 'bin')}:/usr/local/bin:/usr/bin:/bin`
  const markdown = await Promise.all(slugs.map((slug) => stack.api.call<string>('GET', `/docs/${slug}.md`)))
  const examples = markdown.map(
    ({ body }, index) => `printf '\\n== ${slugs[index]}\\n'\n${readExamples(body)}\n${stopReceiver}`,
  )
  const output = await runExamples(examples.join('\n'), { folder, path })
  printed = Object.fromEntries(output.split('\n== ').map((part) => [part.split('\n', 1)[0] ?? '', part]))
})
afterAll(async () => {
  await stack.close()
  rmSync(folder, { recursive: true })
})

test.each(slugs)('the examples of the guide "%s" work as printed', (slug) => {
  for (const text of expected[slug] ?? []) expect(printed[slug]).toMatch(text)
})

test('the first contact is printed with all its fields', () => {
  const [, block = ''] = /^```json\n([^]*?)^```$/m.exec(readFileSync(join(guides, 'index.md'), 'utf8')) ?? []
  expect(Contact.strict().safeParse(JSON.parse(block)).error).toBeUndefined()
})

test('every guide is tested', () => {
  const files = readdirSync(guides)
  expect(files.map((file) => basename(file, '.md')).toSorted()).toEqual(slugs.toSorted())
})

test('the signature check without the SDK accepts only genuine webhooks', async () => {
  const { isGenuine } = (await import(join(folder, 'verify.mjs'))) as {
    isGenuine: (headers: Record<string, string>, body: string, secret: string) => boolean
  }
  const [secret, other, body] = [newSecret(), newSecret(), '{"type":"contact.created"}']
  const eventId = Id('evt').parse('evt_01kag7m3v9e8fs2t4w6x8y0z1b')
  const headers = signBody({ eventId, body }, [other, secret])
  expect(isGenuine(headers, body, secret)).toBe(true)
  expect(isGenuine(headers, `${body} `, secret)).toBe(false)
  expect(isGenuine(headers, body, newSecret())).toBe(false)
  expect(isGenuine({}, body, secret)).toBe(false)
  const old = signBody({ eventId, body }, [secret], new Date(Date.now() - 301_000))
  expect(isGenuine(old, body, secret)).toBe(false)
})
