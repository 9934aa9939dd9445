import type { Guard } from './remove-guard.ts'
import type { TestedGuard } from './tested-guard.ts'

const core = 'packages/core/src'
const consent = `${core}/consent/tracking`

/** Each guard is noticed by one of these. */
const tests = [
  `${core}/rendering/shared-links.test.ts`,
  `${core}/forms/form-consents.int.test.ts`,
  `${core}/operations/contacts/tracking-consent.int.test.ts`,
  `${core}/segments/compile-unseen.int.test.ts`,
  `${consent}/tracking-level.test.ts`,
  'apps/worker/src/jobs/tracking-consent.int.test.ts',
]

const given = [
  {
    name: 'an email tracks a person who has not said anything',
    file: `${consent}/tracking-level.ts`,
    search: 'UNKNOWN: withoutConsent',
    replacement: "UNKNOWN: 'PERSON'",
  },
  {
    name: 'an email counts a person who denied tracking',
    file: `${consent}/tracking-level.ts`,
    search: "DENIED: 'OFF'",
    replacement: "DENIED: 'ANONYMOUS'",
  },
  {
    name: 'an email sent before a denial of tracking records',
    file: `${core}/campaigns/tracking.ts`,
    search: '    if (await isSilent(ctx, contactId, action)) return\n',
    replacement: '',
  },
  {
    name: 'an anonymous token names its recipient',
    file: `${core}/campaigns/tracking.ts`,
    search: "level === 'PERSON' ? uuidOf(recipient.contactId) : ''",
    replacement: 'uuidOf(recipient.contactId)',
  },
  {
    name: 'an anonymous email tracks a link with a value of the contact',
    file: `${core}/rendering/track-html.ts`,
    search: '      if (onlySharedLinks && !sharedLinks.has(url)) continue\n',
    replacement: '',
  },
  {
    name: 'a tracked link shows the length of a value',
    file: `${core}/rendering/shared-links.ts`,
    search: '.filter((url) => other?.has(url))',
    replacement: '',
  },
  {
    name: 'a link from before a denial of tracking grants it',
    file: `${consent}/change-tracking.ts`,
    search: ' && (deniedAt === null || deniedAt < link.issuedAt)',
    replacement: '',
  },
  {
    name: 'a merge forgets when a duplicate denied tracking',
    file: `${consent}/change-tracking.ts`,
    search: 'opensDeniedAt: laterOf(remaining.opensDeniedAt, merged.opensDeniedAt)',
    replacement: 'opensDeniedAt: remaining.opensDeniedAt',
  },
  {
    name: 'a repeated denial of tracking leaves a later request open',
    file: `${consent}/change-tracking.ts`,
    search: 'if (!isNew && !current.proofs.some(isEnded)) return current',
    replacement: 'if (!isNew) return current',
  },
  {
    name: 'a link grants more tracking than its email named',
    file: `${consent}/change-tracking.ts`,
    search: 'link.scope.includes(action) && ',
    replacement: '',
  },
  {
    name: 'a request of an API key to grant tracking is accepted',
    file: `${core}/operations/contacts/tracking-consent.ts`,
    search: "if (opens === 'GRANTED' || clicks === 'GRANTED')",
    replacement: 'if (note === undefined)',
  },
  {
    name: 'the deletion of a contact forgets its denial of tracking',
    file: `${core}/operations/contacts/delete-contact.ts`,
    search: '    await storeTrackingDenials(ctx, contact)\n',
    replacement: '',
  },
  {
    name: 'a denial of tracking stays behind when the address changes',
    file: `${consent}/tracking-consents.ts`,
    search: '    await copyTrackingDenials(ctx, { from, to })\n',
    replacement: '',
  },
  {
    name: 'a grant of tracking moves to another address',
    file: `${consent}/tracking-consents.ts`,
    search: '  await applyChange(ctx, contact, { change: (current) => endGrants(current, proof), emitsEvents })\n',
    replacement: '',
  },
  {
    name: 'a filter finds whom it could not see',
    file: `${core}/segments/compile-filter.ts`,
    search: "isNegated && !to.matchesUnseen && did !== 'receive'",
    replacement: 'false',
  },
  {
    name: 'a consent to tracking subscribes',
    file: `${core}/forms/form-consents.ts`,
    search: "type === 'CONSENT' && purpose === undefined",
    replacement: "type === 'CONSENT'",
  },
  {
    name: 'the link of a subscription grants tracking of which its email said nothing',
    file: `${core}/lists/subscribe.ts`,
    search: 'tracking.filter((action) => allowed.includes(action))',
    replacement: '[...allowed]',
  },
  {
    name: 'the link of a subscription grants tracking that is not ticked',
    file: `${core}/lists/subscribe.ts`,
    search: 'tracking.filter((action) => allowed.includes(action))',
    replacement: 'tracking',
  },
] as const satisfies Guard[]

export const trackingGuards: readonly TestedGuard[] = given.map((guard) => ({ promise: 'consent', ...guard, tests }))
