import type { TestedGuard } from './tested-guard.ts'
import type { Guard } from './remove-guard.ts'

const core = 'packages/core/src'
const subscribe = `${core}/lists/subscribe.ts`
const linkRules = `${core}/consent/link-rules.ts`
const unsubscribe = `${core}/operations/contacts/unsubscribe.ts`

/** Each guard is noticed by one of these. */
const tests = [
  'forms/concurrent-submissions',
  'forms/submissions',
  'lists/removed-subscribers',
  'lists/subscribe',
  'lists/subscribers',
  'operations/contacts/merge-contacts',
  'operations/contacts/opt-out-contact',
  'operations/contacts/undo-unsubscribe',
  'operations/contacts/unsubscribe',
  'contacts/identity/identity',
  'consent/opted-out-addresses',
  'suppressions/promise-of-consent',
  'suppressions/suppress',
  'suppressions/suppressed-visitors',
  'suppressions/suppressions',
].map((name) => `${core}/${name}.int.test.ts`)

const linkTests = ['apps/api/test/consent/sequences.int.test.ts']
const suppressedVisitors = [`${core}/suppressions/suppressed-visitors.int.test.ts`]
const concurrentSignUps = [`${core}/lists/concurrent-sign-ups.int.test.ts`]
const derivedTests = [`${core}/consent/derive-status.test.ts`]

const given = [
  {
    name: 'a form stores a contact for an address that bounced or is blocked',
    file: `${core}/forms/submissions.ts`,
    search: '    isSignUp(form, given) &&\n',
    replacement: '    false &&\n',
    tests: suppressedVisitors,
  },
  {
    name: 'a sign-up that a removal overtakes revives an older link',
    file: subscribe,
    search: "  if (state?.ownStatus === 'REMOVED') endings.push(state.ownStatusAt)\n",
    replacement: '',
    tests: concurrentSignUps,
  },
  {
    name: 'a sign-up that an opt-out overtakes mails a link that does not work',
    file: subscribe,
    search: '  const endings = listRows(records, email, listId).map(({ saidAt }) => saidAt)\n',
    replacement: '  const endings: string[] = []\n',
    tests: concurrentSignUps,
  },
  {
    name: 'a request replaces the email of a later sign-up by one whose link is refused',
    file: subscribe,
    search: "  if (state?.ownStatus === 'PENDING' && state.ownStatusAt > records.startedAt) throw changedBeforeLock\n",
    replacement: '',
    tests: concurrentSignUps,
  },
  {
    name: 'a visitor subscribes an address that bounced or is blocked',
    file: subscribe,
    search: '  if (!canConfirm(rows)) return false\n',
    replacement: '',
    tests: suppressedVisitors,
  },
  {
    name: 'a request without a credential confirms',
    file: subscribe,
    search: "  const pending = { ownStatus: 'PENDING', ownStatusAt: at } as const\n",
    replacement: "  const pending = { ownStatus: 'CONFIRMED', ownStatusAt: at } as const\n",
    tests: [`${core}/lists/visitors-never-confirm.int.test.ts`, ...suppressedVisitors],
  },
  {
    name: 'a request of a visitor opens a subscription that has ended without a row',
    file: subscribe,
    search: '!hasLeft(current, rows) && toKey(state) === toKey(key)',
    replacement: 'toKey(state) === toKey(key)',
  },
  {
    name: 'a request of a visitor undoes a complaint whose row is lost, of a contact that was removed',
    file: subscribe,
    search: '!hasLeft(current, rows) && toKey(state) === toKey(key)',
    replacement: 'isNew && toKey(state) === toKey(key)',
    tests: linkTests,
  },
  {
    name: 'a link completes the request of another person',
    file: `${core}/consent/proofs.ts`,
    search: 'ofMoment(issuedAt) ?? ofMoment() ?? used',
    replacement: 'open[0] ?? used',
    tests: ['apps/api/src/routes/consent.int.test.ts'],
  },
  {
    name: 'a link from before an opt-out confirms',
    file: linkRules,
    search: 'return isOutdated || isRemoved ||',
    replacement: 'return isRemoved ||',
    tests: linkTests,
  },
  {
    name: 'a link from before a removal confirms',
    file: linkRules,
    search: 'return isOutdated || isRemoved ||',
    replacement: 'return isOutdated ||',
    tests: linkTests,
  },
  {
    name: 'a return to one list reopens the others',
    file: linkRules,
    search: '  for (const other of await listOthers()) {',
    replacement: '  for (const other of (await listOthers()).slice(0, 0)) {',
    tests: suppressedVisitors,
  },
  {
    name: 'a bounce whose row is lost becomes an opt-out by a return',
    file: linkRules,
    search: 'row.listId === null && isByPerson(row)',
    replacement: 'row.listId === null',
    tests: linkTests,
  },
  {
    name: 'a bounce whose row is lost ends what a link has confirmed since',
    file: `${core}/consent/lost-rows.ts`,
    search: "(status === 'BOUNCED' && reached.has(contactId))",
    replacement: "(status === 'BOUNCED' && reached.size < 0)",
    tests: linkTests,
  },
  {
    name: 'a link mailed to a former address confirms the present one',
    file: `${core}/contacts/with-linked-contact.ts`,
    search: 'if (!contact || !isSameAddress(contact.email, email)) throw',
    replacement: 'if (!contact) throw',
  },
  {
    name: 'an API client subscribes someone who opted out',
    file: `${core}/lists/subscribers.ts`,
    search: '  if (hasLeft(current, rows)) throw hasOptedOutOfList()\n',
    replacement: '  if (hasLeft(current, rows) && rows.length < 0) throw hasOptedOutOfList()\n',
    tests: linkTests,
  },
  {
    name: 'a complaint whose row is lost leaves the other lists open to an API client',
    file: `${core}/lists/subscribers.ts`,
    search: 'listRows(withLostRows(ctx, records), ',
    replacement: 'listRows(records, ',
    tests: linkTests,
  },
  {
    name: 'an API client subscribes an address that is suppressed',
    file: `${core}/lists/subscribers.ts`,
    search: '  if (rows.length > 0) throw createSuppressedError(rows)\n',
    replacement: '  if (rows.length < 0) throw createSuppressedError(rows)\n',
  },
  {
    name: 'an unsubscribe link does not hold for its address',
    file: unsubscribe,
    search: '[email, ...(seen ? [seen.email] : [])]',
    replacement: '(seen ? [seen.email] : [email])',
  },
  {
    name: 'the undo of an unsubscribe subscribes a suppressed address',
    file: linkRules,
    search: "return isOwn && isUndoable && others.length === 0 ? row : 'REFUSED'",
    replacement: "return isOwn && isUndoable && others.length >= 0 ? row : 'REFUSED'",
  },
  {
    name: 'the undo of an unsubscribe reverts a later one',
    file: linkRules,
    search: ' && row.saidAt === saidAt\n',
    replacement: ' && row.saidAt >= saidAt\n',
  },
  {
    name: 'the undo of an unsubscribe reverts a removal',
    file: unsubscribe,
    search: " || state?.ownStatus !== 'CONFIRMED' ||",
    replacement: ' || !state ||',
  },
  {
    name: 'a merge forgets what the duplicate said',
    file: `${core}/operations/contacts/merge-contacts.ts`,
    search: '  shareSuppressions(records, duplicate.email, survivor.email)\n',
    replacement: '',
  },
  {
    name: 'a merge forgets a removal of the duplicate',
    file: `${core}/consent/merge-subscriptions.ts`,
    search: "const removal = state.ownStatus === 'REMOVED' && isLater",
    replacement: "const removal = state.ownStatus === 'REMOVED' && !isLater",
  },
  {
    name: 'what a person said stays behind when the address changes',
    file: `${core}/consent/change-address.ts`,
    search: '  shareSuppressions(records, from, to)\n',
    replacement: '',
  },
  {
    name: 'an ending whose row is lost is forgotten with its contact',
    file: `${core}/operations/contacts/delete-contact.ts`,
    search: '    restoreLostRows(ctx, records)\n',
    replacement: '',
  },
  {
    name: 'a complaint whose row is lost is forgotten with its list',
    file: `${core}/lists/delete-list.ts`,
    search: '  restoreLostRows(ctx, records)\n',
    replacement: '',
    tests: linkTests,
  },
  {
    name: 'an opt-out and its undo make an address mailable whose bounce is lost',
    file: `${core}/operations/contacts/opt-out-contact.ts`,
    search: '    restoreLostRows(ctx, records)\n',
    replacement: '',
    tests: linkTests,
  },
  {
    name: 'a contact that is created while its address is suppressed is subscribed',
    file: `${core}/suppressions/lock-people.ts`,
    search: "  const moments = await lockAddresses(ctx, emails, 'exclusive')\n",
    replacement: "  const moments = await lockAddresses(ctx, emails.slice(0, 0), 'exclusive')\n",
  },
  {
    name: 'a suppression leaves subscriptions as they are',
    file: `${core}/suppressions/suppress.ts`,
    search: '    await deriveStatuses(ctx, records, { emitsEvents })\n',
    replacement: '    await deriveStatuses(ctx, { ...records, contacts: [] }, { emitsEvents })\n',
  },
  {
    name: 'the opt-outs of a list are not asked for',
    file: `${core}/consent/consent-records.ts`,
    search:
      'const covers = listId === undefined ? ({ listId: of }: SuppressionRow) => of === null : coversList(listId)',
    replacement:
      'const covers = ({ listId: of }: SuppressionRow) => of === null || (listId === null && coversList(listId)({ listId }))',
  },
  {
    name: 'a subscription opens although no verb names it',
    file: `${core}/consent/derive-status.ts`,
    search: 'return isOpen(current) || isNamed\n',
    replacement: 'return isOpen(current) || !isNamed || isNamed\n',
  },
  {
    name: 'a bounce replaces an opt-out whose row is lost',
    file: `${core}/consent/derive-status.ts`,
    search: "const isReplaceable = isOpen(current) || status === 'BOUNCED' || isBlocked || isNamed",
    replacement: 'const isReplaceable = isOpen(current) || status !== null || isBlocked || isNamed',
    tests: derivedTests,
  },
  {
    name: 'a lift opens what something else has ended',
    file: `${core}/consent/derive-status.ts`,
    search: 'unsubscribedAt !== null && [firstSaidAt, createdAt].includes(unsubscribedAt)',
    replacement: 'unsubscribedAt !== null && [firstSaidAt, createdAt].length > 0',
    tests: derivedTests,
  },
  {
    name: 'a lift leaves a bounce at a contact that is getting its address',
    file: `${core}/suppressions/lift-suppression.ts`,
    search: '  if (!hasAddress) await lockEveryAddress(ctx)\n',
    replacement: '',
  },
  {
    name: 'an admin lifts what the person said',
    file: `${core}/suppressions/lift-suppression.ts`,
    search: "    if (isByPerson(row)) throw conflict('opted_out', 'Only the person can revert what they said')\n",
    replacement:
      "    if (isByPerson(row) && !reason) throw conflict('opted_out', 'Only the person can revert what they said')\n",
  },
  {
    name: 'an operator undoes an opt-out of long ago',
    file: `${core}/operations/contacts/opt-out-contact.ts`,
    search: 'row.undoableUntil !== null && row.undoableUntil > records.now',
    replacement: 'row.undoableUntil !== null',
  },
  {
    name: 'an operator undoes an opt-out of the person',
    file: `${core}/operations/contacts/opt-out-contact.ts`,
    search: "others.length > 0 || row.source !== 'API' || !isUndoable",
    replacement: '!isUndoable',
  },
  {
    name: 'a form subscribes a visitor who did not give every consent',
    file: `${core}/forms/form-consents.ts`,
    search: '  if (!isSignUp(form, given)) return false\n',
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
