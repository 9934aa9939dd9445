/** Where the values of an email may come: into its subject and its bodies, and nowhere else. */
import { readEmail } from '@rapport/core/emails/emails.ts'
import type { TemplateInput } from '@rapport/core/emails/templates/templates.schema.ts'
import { type EmailId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ReceivedMail, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, type TestDeps } from '../../test/fixtures.ts'
import { startRefusingSmtp } from '../../test/refusing-smtp.ts'
import { classifyError } from '../smtp/mail-transport.ts'
import { sendEmail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let before: number
beforeEach(() => {
  smtp.decide(() => 'accept')
  before = smtp.mails.length
})

const received = (): readonly ReceivedMail[] => smtp.mails.slice(before)
const send = (id: EmailId, by: TestDeps = deps) => sendEmail(by, jobOf(ctx, 'EMAIL', uuidOf(id)))

const examples = {
  TEXT: 'x',
  LIST: ['x'],
  URL: 'https://shop.example/x',
  NUMBER: 1,
  DATE: '2026-11-21',
  BOOLEAN: true,
} as const
type Type = keyof typeof examples
const types = Object.keys(examples) as Type[]

/** A template that shows a value of each type, the contact and the workspace in its subject. */
function createFullTemplate(input: Partial<TemplateInput>) {
  const values = types.map((type) => `{{ data.${type} }}`).join(' ')
  return createTestTemplate(ctx, {
    subject: `${values.replace('{{ data.LIST }}', '{% for one in data.LIST %}{{ one }}{% endfor %}')} {{ contact.firstName }} {{ workspace.name }}`,
    html: '<p>{{ data.TEXT }}</p>',
    variables: types.map((type) => ({ name: type, type, required: true, example: examples[type] as never })),
    ...input,
  })
}

test('no value of an email can inject a header', async () => {
  const attack = 'x\nBcc: eve@example.com\n\nbody'
  const plain = await createFullTemplate({ fromName: 'A, "B"' })
  await send((await createTestEmail(ctx, plain.id, { data: examples })).id)
  await updateWorkspace(ctx, { name: attack, fromName: attack })
  for (const fromName of [attack, null]) {
    const template = await createFullTemplate({ fromName })
    const to = { email: `eve-${String(fromName === null)}@example.com`, firstName: attack, lastName: attack }
    const data = { ...examples, TEXT: attack, LIST: [attack] }
    await send((await createTestEmail(ctx, template.id, { to, data })).id)
  }
  const [first, ...attacked] = received()
  expect(attacked.map(({ to }) => to)).toEqual([['eve-false@example.com'], ['eve-true@example.com']])
  for (const { headers, subject, fromHeader, toHeader } of attacked) {
    expect(Object.keys(headers)).toEqual(Object.keys(first?.headers ?? {}))
    for (const text of [subject, fromHeader?.name, toHeader[0]?.name]) expect(text).toMatch(/x Bcc: eve/)
  }
})

test.each(['URL', 'NUMBER', 'DATE', 'BOOLEAN'] as const)('a value of the type %s has no line break', async (type) => {
  const template = await createFullTemplate({})
  for (const attack of ['\nBcc: eve@example.com', '\r\nBcc: eve@example.com', ' x', '\tx']) {
    const data = { ...examples, [type]: `${String(examples[type])}${attack}` }
    await expect(createTestEmail(ctx, template.id, { data })).rejects.toMatchObject({ code: 'validation_error' })
  }
})

test('16 KiB of braces are shown as they are', async () => {
  const template = await createTestTemplate(ctx, {
    subject: 'Hello',
    html: '<p>{{ data.text }}</p>',
    variables: [{ name: 'text', type: 'TEXT', required: true, example: 'x' }],
  })
  const text = '{{ {% '.repeat(2_700)
  const { id } = await createTestEmail(ctx, template.id, { data: { text } })
  await send(id)
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'SENT' })
  expect(received()[0]?.text.replace(/\s+/g, ' ')).toContain('{{ {% {{ {%')
})

describe('a server that quotes a value of the email: nothing keeps it', () => {
  const variables = (['URL', 'TEXT'] as const).map((type) => ({
    name: type,
    type,
    required: true,
    example: examples[type],
  }))
  const html =
    '<a href="{{ data.URL }}">Reset</a> <a href="https://shop.example/?t={{ data.TEXT | url_encode }}">Open</a>'
  const data = { URL: 'https://shop.example/reset/planted-link?for=ada@example.com', TEXT: 'ada@example.com+planted' }
  const quotes = [
    'URL https://shop.example/reset/planted-link, see https://help.example/why',
    'URL https://Shop.example/re... see https://help.example/why',
    'URL <hxxps://shop[.]example/reset/planted-link?a> see https://help.example/why',
    'URL (shop.example?t=ada%40example.com%2Bplanted) see https://help.example/why',
    'URL shop.example?t=ada%40example.com%2Bplan... see https://help.example/why',
    'text "ada@example.com+planted" see https://help.example/why',
  ]
  test.each(quotes.flatMap((text) => [`450 4.7.1 blocked ${text}`, `554 5.7.1 blocked ${text}`]))(
    '%s',
    async (refusal) => {
      const { id: templateId } = await createTestTemplate(ctx, { html, variables })
      const { id } = await createTestEmail(ctx, templateId, { data })
      const logged: unknown[] = []
      smtp.decide(() => ({ refusal }))
      const log = { ...deps.log, info: (...parts: unknown[]) => void logged.push(parts) }
      await send(id, { ...deps, log: log as TestDeps['log'] })
      const { reason } = await readEmail(ctx, id)
      expect(reason).toMatch(/blocked (URL|text) \[value\] see \[value\]$/)
      const { rows } = await database.pool.query('select data from events where workspace_id = $1', [
        uuidOf(ctx.workspaceId),
      ])
      expect(JSON.stringify([reason, logged, rows])).not.toMatch(/plan|shop/i)
      expect(logged).toHaveLength(1)
    },
  )
})

test('the line of a response that names the recipient keeps its code', async () => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  const server = await startRefusingSmtp('RCPT', '550-ada@example.com unknown\r\n550 5.1.1 in MX1.EXAMPLE.COM')
  const refused = await createTestDeps(database.db, { smtpUrl: server.url })
  await send(id, refused)
  await refused.close()
  await server.close()
  expect(await readEmail(ctx, id)).toMatchObject({ reason: '550-recipient unknown\n550 5.1.1 in MX1.EXAMPLE.COM' })
})

test('a failure without a response of a server is shown as it is', async () => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  const reason = 'getaddrinfo ENOTFOUND smtp01.internal'
  const mail = { ...deps.mail, send: async () => classifyError(new Error(reason), false) }
  await send(id, { ...deps, mail })
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'PENDING', reason })
})
