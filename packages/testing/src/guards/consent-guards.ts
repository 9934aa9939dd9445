import type { TestedGuard } from './tested-guard.ts'
import type { Guard } from './remove-guard.ts'

const core = 'packages/core/src'
const subscribe = `${core}/lists/subscribe.ts`
const unsubscribe = `${core}/operations/contacts/unsubscribe.ts`

/** Each guard is noticed by one of these. */
const tests = [
  'forms/concurrent-submissions',
  'forms/submissions',
  'lists/bulk-subscribe-contacts',
  'lists/removed-subscribers',
  'lists/subscribe',
  'lists/subscribers',
  'operations/contacts/merge-contacts',
  'operations/contacts/opt-out-contact',
  'operations/contacts/undo-unsubscribe',
  'operations/contacts/unsubscribe',
  'contacts/identity/identity',
  'subscriptions/apply-suppressions',
  'suppressions/promise-of-consent',
  'suppressions/suppress',
  'suppressions/suppressed-visitors',
  'suppressions/suppressions',
].map((name) => `${core}/${name}.int.test.ts`)

const visitorTests = [`${core}/lists/visitors-never-confirm.int.test.ts`]
const importTests = [`${core}/imports/import-statuses.int.test.ts`]

const given = [
  {
    name: 'a visitor subscribes an address that bounced or is blocked',
    file: subscribe,
    search: '  if (!canConfirm(reasons)) return false\n',
    replacement: '',
  },
  {
    name: 'a request without a credential confirms',
    file: subscribe,
    search: ".values({ workspaceId: ctx.workspaceId, ...link, status: 'PENDING', source, consent: [consent] })",
    replacement: ".values({ workspaceId: ctx.workspaceId, ...link, status: 'CONFIRMED', source, consent: [consent] })",
    tests: visitorTests,
  },
  {
    name: 'a request without a credential confirms a contact that the operator removed',
    file: subscribe,
    search: "      status: 'PENDING',\n      source,\n",
    replacement: "      status: 'CONFIRMED',\n      source,\n",
    tests: visitorTests,
  },
  {
    name: 'a visitor restores a removed subscription of an address that opted out',
    file: subscribe,
    search: 'if (reasons.length === 0) await reopenAsPending',
    replacement: 'await reopenAsPending',
  },
  {
    name: 'a link from before an opt-out of all lists confirms',
    file: subscribe,
    search: 'if (isOutdated || !canConfirm(reasons))',
    replacement: 'if (!canConfirm(reasons))',
  },
  {
    name: 'a link from before an opt-out confirms',
    file: subscribe,
    search: '          or(isNull(subscriptions.unsubscribedAt), lt(subscriptions.unsubscribedAt, issuedAt)),\n',
    replacement: '',
  },
  {
    name: 'a link mailed to a former address confirms the present one',
    file: subscribe,
    search: 'if (!contact || !isSameAddress(contact.email, email)) throw',
    replacement: 'if (!contact) throw',
  },
  {
    name: 'an API client subscribes someone who opted out',
    file: `${core}/lists/subscribers.ts`,
    search: '    if (hasOptedOut || reasons.some(isByPerson)) throw hasOptedOutOfList()\n',
    replacement: '',
  },
  {
    name: 'an API client subscribes an address that is suppressed',
    file: `${core}/lists/subscribers.ts`,
    search: '    if (reasons[0]) throw createSuppressedError(reasons[0])\n',
    replacement: '',
  },
  {
    name: 'an import subscribes an address that is suppressed',
    file: `${core}/lists/bulk-subscribe-contacts.ts`,
    search: '({ id, email }) => !suppressed.has(email) && !refused.has(id)',
    replacement: '({ id }) => suppressed.size >= 0 && !refused.has(id)',
  },
  {
    name: 'an import subscribes a contact that unsubscribed',
    file: `${core}/lists/bulk-subscribe-contacts.ts`,
    search: ' && !refused.has(id))',
    replacement: ')',
  },
  {
    name: 'a row of an import confirms an address that another row opts out',
    file: `${core}/imports/writing/write-contact-rows.ts`,
    search: 'isAddressOf(one) && !optsOut(one))',
    replacement: 'isAddressOf(one))',
    tests: importTests,
  },
  {
    name: 'an import confirms before it has read all opt-outs of the file',
    file: `${core}/imports/check-chunks.ts`,
    search: 'const counts = await recordOptOuts(ctx, claimed, optOuts)',
    replacement: 'const counts = await recordOptOuts(ctx, claimed, optOuts.slice(0, 0))',
    tests: importTests,
  },
  {
    name: 'a new contact of an import is subscribed although its row opts out',
    file: `${core}/imports/writing/write-contact-rows.ts`,
    search: '  if (!dryRun) await followOptOuts(ctx, claimed, people)\n',
    replacement: '',
    tests: importTests,
  },
  {
    name: 'a bounce in a file holds for every address of the person',
    file: `${core}/imports/writing/record-opt-outs.ts`,
    search: "(status === 'BOUNCED' ? emails.slice(0, 1) : emails)",
    replacement: '(status ? emails : emails)',
    tests: importTests,
  },
  {
    name: 'an unsubscribe link does not hold for its address',
    file: unsubscribe,
    search: '  await storeOptOut(ctx, link.listId, hashEmail(ctx, email))\n',
    replacement: '',
  },
  {
    name: 'the owner of a former address gets a link that subscribes the present one',
    file: unsubscribe,
    search: '  if (!isSameAddress(contact.email, email)) return undefined\n',
    replacement: '',
  },
  {
    name: 'the undo of an unsubscribe subscribes a suppressed address',
    file: unsubscribe,
    search: ' || reasons.length > 0) throw invalidLink()',
    replacement: ' || reasons.length < 0) throw invalidLink()',
  },
  {
    name: 'the undo of an unsubscribe reverts a later one',
    file: `${core}/lists/restore-subscription.ts`,
    search: '        eq(subscriptions.unsubscribedAt, unsubscribedAt),\n',
    replacement: '',
  },
  {
    name: 'a merge forgets what the duplicate said',
    file: `${core}/operations/contacts/merge-contacts.ts`,
    search: '    await leaveAddress(ctx, duplicate, survivor)\n',
    replacement: '',
  },
  {
    name: 'a merge subscribes a survivor that opted out',
    file: `${core}/operations/contacts/merge-contacts.ts`,
    search: '    await applySuppressions(ctx, survivor)\n',
    replacement: '',
  },
  {
    name: 'the less strict status of two merged subscriptions wins',
    file: `${core}/lists/move-subscriptions.ts`,
    search: "\n      and ${strictness('excluded')} > ${strictness('kept')}",
    replacement: "\n      and ${strictness('excluded')} <> ${strictness('kept')}",
  },
  {
    name: 'a complaint stays behind when the address changes',
    file: `${core}/subscriptions/change-address.ts`,
    search: '  await copySuppressions(ctx, { from: former.email, to: next.email, contactId: next.id })\n',
    replacement: '',
  },
  {
    name: 'an opt-out of a list stays behind when the address changes',
    file: `${core}/subscriptions/change-address.ts`,
    search: '  await copyOptOuts(ctx, { from: former.email, to: next.email })\n',
    replacement: '',
  },
  {
    name: 'the deletion of a contact forgets its opt-outs',
    file: `${core}/operations/contacts/delete-contact.ts`,
    search: '    await storeOptOutsOfContact(ctx, contact)\n',
    replacement: '',
  },
  {
    name: 'a contact that is created while its address is suppressed is subscribed',
    file: `${core}/suppressions/with-locked-addresses.ts`,
    search: "  await lockAddresses(ctx, emails, 'exclusive')\n",
    replacement: '',
  },
  {
    name: 'a suppression leaves subscriptions as they are',
    file: `${core}/suppressions/suppress.ts`,
    search: 'const ended = await endSuppressed(ctx, [...suppressed.values()], now)',
    replacement: 'const ended = await endSuppressed(ctx, [...suppressed.values()].slice(0, 0), now)',
  },
  {
    name: 'the opt-outs of a list are not asked for',
    file: `${core}/subscriptions/find-suppressions.ts`,
    search: '    ...ofList.map((row) => ({ emailHash: row.emailHash, reasons: [reasonOfOptOut(row)] })),\n',
    replacement: '',
  },
  {
    name: 'a campaign mails an address that is suppressed',
    file: `${core}/campaigns/sending.ts`,
    search: 'return claimed.filter(({ email }) => !suppressed.has(email))',
    replacement: 'return claimed',
  },
  {
    name: 'a bounce or a block weakens what the person said',
    file: `${core}/subscriptions/suppression-reasons.ts`,
    search: '.toSorted((one, other) => strictness(one.reason) - strictness(other.reason))',
    replacement: '.toSorted((one, other) => strictness(other.reason) - strictness(one.reason))',
  },
  {
    name: 'an admin lifts what the person said',
    file: `${core}/suppressions/lift-suppression.ts`,
    search: "(reason === undefined && (one.reason === 'BOUNCED' || one.reason === 'MANUAL'))",
    replacement: 'reason === undefined',
  },
  {
    name: 'a lift forgets an opt-out that is stored meanwhile',
    file: `${core}/suppressions/lift-suppression.ts`,
    search: "selectRow(ctx, id).for('update')",
    replacement: 'selectRow(ctx, id)',
  },
  {
    name: 'a merge forgets the later of two opt-outs from a list',
    file: `${core}/subscriptions/opt-outs.ts`,
    search: 'greatest(opt_outs.created_at, excluded.created_at)',
    replacement: 'opt_outs.created_at',
  },
  {
    name: 'an operator undoes an opt-out of long ago',
    file: `${core}/operations/contacts/opt-out-contact.ts`,
    search: ' || new Date(optOut.createdAt) <= since) throw onlyThePerson()',
    replacement: ') throw onlyThePerson()',
  },
  {
    name: 'an operator undoes an opt-out of the person',
    file: `${core}/operations/contacts/opt-out-contact.ts`,
    search: "if (optOut.source !== 'API' || ",
    replacement: 'if (',
  },
  {
    name: 'a form subscribes a visitor who did not give every consent',
    file: `${core}/forms/form-consents.ts`,
    search: '  if (!fields.every(({ id }) => given.has(id))) return false\n',
    replacement: '',
  },
  {
    name: 'a form subscribes by a wording that the visitor has not seen',
    file: `${core}/forms/submissions.ts`,
    search: 'if (input.versions && !input.versions.includes(computeFormVersion(form))) {',
    replacement: 'if (input.versions?.length === 0) {',
  },
] satisfies (Guard & Partial<TestedGuard>)[]

/** Consent only narrows. */
export const consentGuards: readonly TestedGuard[] = given.map((guard) => ({ promise: 'consent', tests, ...guard }))
