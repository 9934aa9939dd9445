import { launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { consentWording, createForm, createList, fillIn, filledIn, type Form, readSubmissions } from './public-form.ts'
import { type Site, startSite, watchPage } from './test-site.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('the hosted page of a form, without JavaScript', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let site: Site
  let form: Form
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres', {}, { worker: 'none' }), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
    site = await startSite({ '/thanks': { body: '<h1>Thanks from the site</h1>' } })
  })
  beforeEach(async () => {
    page = await browser.newPage({ javaScriptEnabled: false })
    form = await createForm(stack.api, key, { listId: (await createList(stack.api, key)).id })
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
    await stack.close()
  })

  const addressOf = ({ id }: { id: string }) => `${stack.api.url}/f/${id}`
  const send = () => page.getByRole('button', { name: 'Send' }).click()

  test('shows an error next to its field and accepts the corrected form', async () => {
    const watched = watchPage(page)
    await page.goto(addressOf(form))
    expect(await page.title()).toBe('Visit us')
    await fillIn(page, { email: 'ada@localhost' })
    await send()

    const message = 'Please enter an email address such as ada@example.com.'
    const problem = page.locator('form').getByText(message)
    await problem.waitFor()
    expect(await page.title()).toBe('Please check: Visit us')
    const email = page.getByLabel('Email')
    expect(await email.getAttribute('aria-invalid')).toBe('true')
    expect(await email.getAttribute('aria-describedby')).toBe(await problem.getAttribute('id'))
    // The summary has the focus, so that screen readers announce it first, and links to the field.
    const summary = page.getByRole('alert')
    expect(await summary.textContent()).toContain(message)
    expect(await page.locator(':focus').getAttribute('role')).toBe('alert')
    await summary.getByRole('link', { name: 'Email' }).click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type(filledIn.email)

    expect(await page.getByLabel('First name').inputValue()).toBe(filledIn.firstName)
    expect(await page.getByLabel('Your message').inputValue()).toBe(filledIn.message)
    expect(await page.getByLabel(consentWording).isChecked()).toBe(true)
    await send()
    await page.getByText(form.successMessage).waitFor()
    expect(page.url()).toContain(`${addressOf(form)}/thanks`)

    const submissions = await readSubmissions(stack.api, key, form)
    expect(submissions.map(({ values }) => values)).toEqual([filledIn])
    const contact = await stack.api.call('GET', `/contacts/${submissions[0]?.contactId}`, { key })
    expect(contact.body).toMatchObject({ email: filledIn.email, emailSubscribedStatus: 'PENDING' })
    expect([watched.origins, watched.errors]).toEqual([new Set([stack.api.url]), []])
  })

  test('shows the logo of the workspace, and its policy allows no other image', async () => {
    const logoUrl = 'https://images.example/logo.svg'
    await stack.api.call('PATCH', '/workspace', { key, body: { logoUrl, accentColor: '#7a1fa2' } })
    const body = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><rect width="90" height="30"/></svg>'
    await page.route('https://*.example/**', (route) => route.fulfill({ contentType: 'image/svg+xml', body }))
    const watched = watchPage(page)
    await page.goto(addressOf(form))
    await page.getByRole('img', { name: 'Engines & Co' }).waitFor()
    expect(await page.evaluate(`document.querySelector('img').naturalWidth`)).toBe(90)
    const color = await page.evaluate(`getComputedStyle(document.querySelector('button')).backgroundColor`)
    expect(color).toBe('rgb(122, 31, 162)')
    expect([watched.origins, watched.errors]).toEqual([new Set([stack.api.url, 'https://images.example']), []])

    await page.evaluate(`document.querySelector('img').src = 'https://other.example/logo.svg'`)
    await waitUntil(() => watched.errors.length > 0, { describe: 'the policy blocks the other image' })
    expect(watched.errors).toEqual([expect.stringContaining('img-src https://images.example')])
    await stack.api.call('PATCH', '/workspace', { key, body: { logoUrl: null, accentColor: null } })
  })

  test('is submitted once on a double click', async () => {
    await page.goto(addressOf(form))
    await fillIn(page)
    await page.getByRole('button', { name: 'Send' }).dblclick()
    await page.getByText(form.successMessage).waitFor()
    expect(await readSubmissions(stack.api, key, form)).toHaveLength(1)
  })

  test('keeps the values except the consent if the form was changed meanwhile', async () => {
    await page.goto(addressOf(form))
    await fillIn(page)
    await stack.api.call('PATCH', `/forms/${form.id}`, { key, body: { name: 'Come and visit us' } })
    await send()
    await page.getByRole('alert').getByText('This form has changed.').waitFor()
    expect(await readSubmissions(stack.api, key, form)).toEqual([])
    expect(await page.getByLabel('Your message').inputValue()).toBe(filledIn.message)
    expect(await page.getByLabel(consentWording).isChecked()).toBe(false)
    await send()
    await page.getByText(form.successMessage).waitFor()
    const submissions = await readSubmissions(stack.api, key, form)
    expect(submissions.map(({ values, consents }) => [values, consents])).toEqual([[{ ...filledIn, news: false }, []]])
  })

  test('redirects to the URL of the form, also if that URL redirects to another site', async () => {
    const moved = await startSite({ '/': { location: `${site.url}/thanks` } })
    for (const redirectUrl of [`${site.url}/thanks`, moved.url]) {
      form = await createForm(stack.api, key, { redirectUrl })
      await page.goto(addressOf(form))
      await fillIn(page)
      await send()
      await page.getByRole('heading', { name: 'Thanks from the site' }).waitFor({ timeout: 5_000 })
      expect(await readSubmissions(stack.api, key, form)).toHaveLength(1)
    }
    await moved.close()
  })

  test('works in a frame of another site', async () => {
    const framing = await startSite({ '/': { body: `<iframe src="${addressOf(form)}" height="1400"></iframe>` } })
    await page.goto(framing.url)
    const framed = page.frameLocator('iframe')
    await framed.getByLabel('Email').fill('ada@localhost')
    await framed.getByLabel('Your message').fill('Hello')
    await framed.getByRole('button', { name: 'Send' }).click()
    await framed.getByRole('alert').waitFor()
    await framed.getByLabel('Email').fill(filledIn.email)
    await framed.getByRole('button', { name: 'Send' }).click()
    await framed.getByText(form.successMessage).waitFor()
    expect(await readSubmissions(stack.api, key, form)).toHaveLength(1)
    await framing.close()
  })
})
