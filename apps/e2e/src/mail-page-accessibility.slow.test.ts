import { checkAppearance, launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('accessible on phone and desktop, in light and dark mode:', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true })
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  const expectAccessible = async (name: string) => expect(await checkAppearance(page, name)).toEqual([])

  test('the mails of a list and the pages that they link to', async () => {
    const list = await createList(stack.api, key)
    await stack.api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: 'ada@example.com' } })
    await checkAndFollow('Confirm your subscription')
    await expectAccessible('confirm')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor()
    await expectAccessible('confirmed')
    await page.goto(`${stack.api.url}/public/subscriptions/confirm?token=broken`)
    await expectAccessible('confirm, broken link')

    const campaign = await stack.api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject: 'The news', listId: list.id, html: newsletter },
    })
    await stack.api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    await checkAndFollow('The news')
    await expectAccessible('unsubscribe')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    await expectAccessible('unsubscribed')
    await page.getByRole('button', { name: 'Subscribe again' }).click()
    await page.getByRole('heading', { name: 'You are subscribed again' }).waitFor()
    await expectAccessible('subscribed again')
    await page.getByRole('link', { name: 'Unsubscribe' }).click()
    await page.getByRole('button', { name: 'Unsubscribe' }).waitFor()
    await page.goto(`${stack.api.url}/public/unsubscribe?token=broken`)
    await page.getByText('Please click it again in the email').waitFor()
    await expectAccessible('unsubscribe, broken link')
  })

  test('the mails for invites and password resets and the pages that they link to', async () => {
    await stack.api.call('POST', '/invites', { key, body: { email: 'alan@example.com', role: 'MEMBER' } })
    await checkAndFollow('Join Engines & Co')
    await expectAccessible('invite')
    await page.getByLabel('Password').fill('too short')
    await page.getByRole('button').click()
    await page.getByText('The password must have 12 to 128 characters.').waitFor()
    await expectAccessible('invite with a mistake')
    await page.getByLabel('Password').fill('a long and secret sentence')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Welcome' }).waitFor()
    await expectAccessible('invite accepted')

    await stack.api.call('POST', '/auth/forgot-password', { body: { email: 'alan@example.com' } })
    await checkAndFollow('Choose a new password')
    await expectAccessible('reset')
    await page.getByLabel('Password').fill('another long and secret sentence')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
    await expectAccessible('reset done')
    await page.goto(`${stack.api.url}/reset-password?token=broken`)
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    await expectAccessible('reset, broken link')
    await page.getByRole('link', { name: 'Request a new link' }).click()
    await expectAccessible('forgot password')
    await page.getByLabel('Email').fill('ada@localhost')
    await page.getByRole('button').click()
    await page.getByRole('alert').waitFor()
    await expectAccessible('forgot password with a mistake')
    await page.getByLabel('Email').fill('alan@example.com')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    await expectAccessible('forgot password done')
  })

  test('the invite of a person who has an account', async () => {
    const other = await stack.api.createWorkspace()
    await stack.api.call('PATCH', '/workspace', { key, body: { name: 'The Analytical Society' } })
    await stack.api.call('POST', '/invites', { key, body: { email: other.email, role: 'MEMBER' } })
    await checkAndFollow('Join The Analytical Society')
    await page.getByRole('heading', { name: `Join The Analytical Society as ${other.email}` }).waitFor()
    await expectAccessible('invite of a known person')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
  })

  test('the mail that verifies an email address and the page that it links to', async () => {
    await checkAndFollow('Verify your email address')
    await expectAccessible('verify')
    await page.getByLabel('Password').fill('not the password at all')
    await page.getByRole('button').click()
    await page.getByText('The password is wrong').waitFor()
    await expectAccessible('verify with a mistake')
    await page.getByLabel('Password').fill('a long and secret sentence')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Your email address is verified' }).waitFor()
    await expectAccessible('verified')
  })

  test('a password manager understands the pages, which name the account', async () => {
    const readUserName = () => page.locator('[autocomplete=username]').inputValue()
    /** The rules of Chromium's advice about passwords, which only a browser with windows logs. */
    const findProblems = () =>
      page.evaluate<string[]>(`[
        ...[...document.querySelectorAll('[id]')].map(({ id }) => id).filter((id, at, all) => all.indexOf(id) < at),
        ...[...document.querySelectorAll('input[type=password]')].flatMap(({ form, autocomplete, name }) => [
          ...(['current-password', 'new-password'].includes(autocomplete) ? [] : [name + ': ' + autocomplete]),
          ...(form?.querySelectorAll('[autocomplete=username]').length === 1 ? [] : [name + ': no user name']),
        ]),
      ]`)

    const other = await stack.api.createWorkspace()
    const invited = 'grace@example.com'
    await stack.api.call('POST', '/invites', { key: other.key, body: { email: invited, role: 'MEMBER' } })
    await stack.api.call('POST', '/auth/forgot-password', { body: { email: other.email } })
    for (const [subject, address] of [
      ['Join Engines & Co', invited],
      ['Choose a new password', other.email],
      ['Verify your email address', other.email],
    ] as const) {
      const { text } = await stack.inbox.waitFor(
        (mail) => mail.subject.startsWith(subject) && mail.to.includes(address),
      )
      await page.goto(linkIn(text))
      expect([await readUserName(), await findProblems()]).toEqual([address, []])
      await page.getByLabel('Password').fill('short')
      await page.getByRole('button').click()
      await page.getByRole('alert').waitFor()
      expect([await readUserName(), await findProblems()]).toEqual([address, []])
    }
  })

  /** Checks a mail as a mail client shows it, and opens the link in it. */
  async function checkAndFollow(subject: string): Promise<void> {
    const { html, text } = await stack.inbox.waitFor((mail) => mail.subject.startsWith(subject))
    await page.goto('about:blank')
    await page.setContent(html)
    expect(await checkAppearance(page, `mail, ${subject}`, 'mail')).toEqual([])
    await page.goto(linkIn(text))
  }
})

const linkIn = (text: string) => /https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? ''

/** Sets no colors, so that the mail client's color scheme applies. Rapport adds the footer. */
const newsletter = `<!doctype html><html lang="en">
<head><meta name="color-scheme" content="light dark"><title>The news</title></head>
<body><h1>The news</h1><p>All is well.</p></body></html>`
