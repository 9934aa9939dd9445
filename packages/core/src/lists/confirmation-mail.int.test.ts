import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { contacts, lists, mails, subscriptions, workspaces } from '../db/schema/index.ts'
import { createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { renderConfirmationMail } from './confirmation-mail.ts'
import type { List } from './lists.schema.ts'
import { subscribe } from './subscribe.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '<i>Ada</i>', lastName: '' })
})

async function render() {
  const [mail] = await ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  return mail && renderConfirmationMail(ctx, mail)
}

test('the email names sender, list and address, with a link in HTML and text', async () => {
  const mail = await render()
  expect(mail).toMatchObject({
    from: { name: 'Analytical Engines', address: 'newsletter@example.com' },
    to: { name: '', address: 'ada@example.com' },
    subject: 'Confirm your subscription to Product news',
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  const link = /https:\/\/crm\.example\.com\/public\/subscriptions\/confirm\?token=[\w.-]+/
  for (const part of [mail?.html, mail?.text]) {
    expect(part).toMatch(link)
    expect(part).toContain('ada@example.com')
    expect(part).toContain('Analytical Engines')
  }
})

test('a duplicate has the same link and Message-ID', async () => {
  expect(await render()).toEqual(await render())
})

test('escapes names in HTML and headers', async () => {
  const name = '<b>Tricks</b>\r\nBcc: eve@example.com'
  await ctx.db.update(lists).set({ name }).where(eq(lists.id, list.id))
  await ctx.db.update(workspaces).set({ fromName: name }).where(eq(workspaces.id, ctx.workspaceId))
  const mail = await render()
  expect(mail?.html).not.toContain('<b>Tricks')
  expect(mail?.html).toContain('&lt;b&gt;Tricks&lt;/b&gt;')
  expect(mail?.subject).toBe('Confirm your subscription to <b>Tricks</b> Bcc: eve at example com')
  expect(mail?.from.name).toBe('<b>Tricks</b> Bcc: eve at example com')
})

test('the email is sent from the address of the workspace if it has one', async () => {
  await ctx.db.update(workspaces).set({ fromEmail: 'us@engines.example' }).where(eq(workspaces.id, ctx.workspaceId))
  expect((await render())?.from.address).toBe('us@engines.example')
})

test('the email is in the language of the contact, the list or the workspace', async () => {
  const subjectAndLanguage = async () => {
    const mail = await render()
    return [mail?.subject, mail?.headers?.['Content-Language'], /<html lang="([^"]*)"/.exec(mail?.html ?? '')?.[1]]
  }
  await ctx.db.update(workspaces).set({ locale: 'it' }).where(eq(workspaces.id, ctx.workspaceId))
  expect(await subjectAndLanguage()).toEqual(['Confermi la Sua iscrizione a «Product news»', 'it', 'it'])
  await ctx.db.update(lists).set({ locale: 'de' }).where(eq(lists.id, list.id))
  expect(await subjectAndLanguage()).toEqual(['Bitte bestätigen Sie Ihre Anmeldung: Product news', 'de', 'de'])
  await ctx.db.update(contacts).set({ locale: 'pt-BR' }).where(eq(contacts.workspaceId, ctx.workspaceId))
  expect(await subjectAndLanguage()).toEqual(['Confirme sua inscrição em “Product news”', 'pt-BR', 'pt-BR'])
})

test('a contact whose language has no texts gets that of the page, then of the list', async () => {
  await ctx.db.update(lists).set({ locale: 'de' }).where(eq(lists.id, list.id))
  const [email, listId] = ['grace@example.com', list.id]
  await createTestContact(ctx, { email, locale: 'nl' })
  await subscribe(ctx, listId, { email, firstName: '', lastName: '', locale: 'fr-BE' })
  const [mail] = await ctx.db.select().from(mails).where(eq(mails.toAddress, email))
  const rendered = mail && (await renderConfirmationMail(ctx, mail))
  expect(rendered?.headers?.['Content-Language']).toBe('fr-BE')
})

test('renders no email if the subscription was deleted', async () => {
  await ctx.db.delete(subscriptions).where(eq(subscriptions.listId, list.id))
  expect(await render()).toBeUndefined()
})
