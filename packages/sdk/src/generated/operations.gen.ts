// Generated from the OpenAPI document of the API. Do not edit: see README.md.

import { type Client, encodePath } from '../client.ts'

import type { RequestOptions } from '../options.ts'

import type { ApiPromise, PagePromise } from '../promises.ts'

import type * as types from './types.gen.ts'

import type { Upload } from '../upload.ts'

/** An event, as webhooks deliver it. Switch on `type` to narrow `data`. */
export type WebhookEvent =
  | types.EventContactCreatedWebhookPayload
  | types.EventContactUpdatedWebhookPayload
  | types.EventContactDeletedWebhookPayload
  | types.EventContactMergedWebhookPayload
  | types.EventCompanyCreatedWebhookPayload
  | types.EventCompanyUpdatedWebhookPayload
  | types.EventCompanyDeletedWebhookPayload
  | types.EventFormSubmittedWebhookPayload
  | types.EventSubscriptionCreatedWebhookPayload
  | types.EventSubscriptionConfirmedWebhookPayload
  | types.EventSubscriptionUnsubscribedWebhookPayload
  | types.EventTrackingConsentChangedWebhookPayload
  | types.EventDealCreatedWebhookPayload
  | types.EventDealUpdatedWebhookPayload
  | types.EventDealStageChangedWebhookPayload
  | types.EventDealWonWebhookPayload
  | types.EventDealLostWebhookPayload
  | types.EventDealDeletedWebhookPayload
  | types.EventTaskCreatedWebhookPayload
  | types.EventTaskUpdatedWebhookPayload
  | types.EventTaskCompletedWebhookPayload
  | types.EventTaskDeletedWebhookPayload
  | types.EventNoteCreatedWebhookPayload
  | types.EventNoteUpdatedWebhookPayload
  | types.EventNoteDeletedWebhookPayload
  | types.EventListDeletedWebhookPayload
  | types.EventCampaignSendingWebhookPayload
  | types.EventCampaignSentWebhookPayload
  | types.EventCampaignCanceledWebhookPayload
  | types.EventImportCompletedWebhookPayload
  | types.EventTemplatePausedWebhookPayload
  | types.EventEmailSentWebhookPayload
  | types.EventEmailFailedWebhookPayload
  | types.EventEmailInterruptedWebhookPayload
  | types.EventEmailSkippedWebhookPayload
  | types.EventMailBouncedWebhookPayload
  | types.EventMailComplainedWebhookPayload
  | types.EventConfirmationsWithheldWebhookPayload
  | types.EventDomainVerifiedWebhookPayload
  | types.EventDomainFailedWebhookPayload
  | types.EventWebhookDisabledWebhookPayload
  | types.EventWebhookTestWebhookPayload

class Resource {
  protected readonly client: Client
  constructor(client: Client) {
    this.client = client
  }
}

export class Health extends Resource {
  /**
   * Check health.
   *
   * Returns 200 while the process runs.
   */
  get(options?: RequestOptions): ApiPromise<types.HealthGetResponse> {
    return this.client.request({ path: '/health' }, options)
  }
}

export class Ready extends Resource {
  /**
   * Check readiness.
   *
   * Returns 503 if the process cannot serve requests; `parts` shows why. While Redis is unavailable, `status` is `degraded` and the response is still 200: requests are accepted, and their background work runs once Redis is available again. If `clock.status` is `off`, the ids and timestamps that this process creates are wrong; this does not affect `status`.
   */
  get(options?: RequestOptions): ApiPromise<types.ReadyGetResponse> {
    return this.client.request({ path: '/ready' }, options)
  }
}

export class Tls extends Resource {
  /**
   * Check whether a host may have a certificate.
   *
   * Returns 204 for the host of `PUBLIC_URL` and for the verified hosts of workspaces, otherwise 404. For a proxy that gets certificates on demand, such as Caddy. A new host takes up to five seconds.
   */
  check(query: types.TlsCheckData['query'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ path: '/tls-allowed', query }, options)
  }
}

export class Auth extends Resource {
  /**
   * Sign up.
   *
   * Creates a user and a workspace with a pipeline named "Sales", and makes the user its OWNER. An email asks the user to verify the address, in the language of `Accept-Language`; verification is optional. Returns 409 if the address is already registered, and 403 if the operator has closed sign-up.
   */
  signUp(body: types.AuthSignUpData['body'], options?: RequestOptions): ApiPromise<types.AuthSignUpResponse> {
    return this.client.request({ method: 'POST', path: '/auth/signup', body }, options)
  }

  /**
   * Log in.
   *
   * Creates a session that lasts 30 days. An unknown address and a wrong password return the same 401 in the same time. After 10 failures from one client, further attempts return 429 with exponential backoff; after 50 failures in total, attempts from clients that have not logged in during the last 90 days return 429 too.
   */
  logIn(body: types.AuthLogInData['body'], options?: RequestOptions): ApiPromise<types.AuthLogInResponse> {
    return this.client.request({ method: 'POST', path: '/auth/login', body }, options)
  }

  /**
   * Request a password reset.
   *
   * Emails a reset link that expires after one hour, in the language of `Accept-Language`, or else of the workspace. An unknown address gets the same response, but no email.
   */
  forgotPassword(body: types.AuthForgotPasswordData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/forgot-password', body }, options)
  }

  /**
   * Reset a password.
   *
   * Sets a new password with the single-use token from the email, and ends all sessions of the user. If the address was never verified, someone else may have signed up with it: the API keys and invites that the user created are revoked, and of the workspaces that they own, the webhooks are disabled and the mail hooks deleted.
   */
  resetPassword(body: types.AuthResetPasswordData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/reset-password', body }, options)
  }

  /**
   * Verify an email address.
   *
   * Requires the token from the email and the password. Returns 401 if the password is wrong. Verifying an address again is a no-op.
   */
  verifyEmail(body: types.AuthVerifyEmailData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/verify-email', body }, options)
  }

  /**
   * Accept an invite.
   *
   * Adds a user to the workspace with the token from the email. Creates the user if the address has no account. Otherwise `password` must be the password of the account; a wrong one returns 401.
   */
  acceptInvite(body: types.AuthAcceptInviteData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/accept-invite', body }, options)
  }

  /**
   * Retrieve the current credential.
   *
   * Returns the user or API key that made the request, its role and its workspace.
   *
   * Requires the role VIEWER.
   */
  me(options?: RequestOptions): ApiPromise<types.AuthMeResponse> {
    return this.client.request({ path: '/auth/me' }, options)
  }

  /**
   * Resend the verification email.
   *
   * Emails a new link to verify your address, in the language of `Accept-Language`, or else of the workspace, at most once an hour; more requests return 409 with `retry-after`. Returns 409 if the address is already verified, and 403 for an API key, which has no address.
   *
   * Requires the role VIEWER.
   */
  resendVerification(options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/resend-verification' }, options)
  }

  /**
   * Log out.
   *
   * Ends the session of the request; its token is invalid immediately. Returns 403 for an API key, which has no session: to revoke a key, delete it.
   *
   * Requires the role VIEWER.
   */
  logOut(options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'POST', path: '/auth/logout' }, options)
  }
}

export class Public extends Resource {
  /**
   * Retrieve a public form.
   *
   * Returns the public part of the form, with an `ETag`. A disabled form returns 404.
   */
  getForm(id: string, options?: RequestOptions): ApiPromise<types.PublicGetFormResponse> {
    return this.client.request({ path: encodePath`/public/forms/${id}` }, options)
  }

  /**
   * Submit a form.
   *
   * `values` maps field ids to values. The `path` of each of the `issues` is a field id. With `Idempotency-Key`, repeated requests with the same values make one submission. With `If-Match` and the form's ETag, returns 412 if the form has changed since. `_website` is a honeypot: add an input with this name that visitors cannot see; a submission that fills it in is counted and dropped. The errors of the values are in the language of the visitor, or in that of the form, and a contact without a locale gets it.
   */
  submitForm(id: string, body: types.PublicSubmitFormData['body'], query?: types.PublicSubmitFormData['query'], options?: RequestOptions): ApiPromise<types.PublicSubmitFormResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/public/forms/${id}/submit`, query, body, isIdempotent: true }, options)
  }

  /**
   * Subscribe to a list.
   *
   * Sends a confirmation email, also if the list has no double opt-in: a request without a credential never confirms. Returns 404 for a list whose `publicSignup` is CLOSED. By default, an address receives at most one confirmation email in 10 minutes and three a day for each list, and five a day over all lists of the workspace; all forms of the address (upper case, `+tag`) count together. Beyond these limits, and while the operator requires a verified email address that no owner has, no email is sent. The response is the same in all these cases, and for unknown, known, pending and confirmed addresses. A contact without a locale gets the language of the visitor, and so does the email.
   */
  subscribe(id: string, body: types.PublicSubscribeData['body'], query?: types.PublicSubscribeData['query'], options?: RequestOptions): ApiPromise<types.PublicSubscribeResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/public/lists/${id}/subscribe`, query, body }, options)
  }
}

export class MailHooks extends Resource {
  /**
   * Receive a message of a mail provider.
   *
   * For the webhooks of mail providers: see `POST /mail-hooks`. The body is what the provider sends, in its format, with its signature; anything else gets 401. Bounces and complaints are recorded before the response, a repeated one once. Other events are accepted and ignored.
   */
  receive(provider: string, token: string, options?: RequestOptions): ApiPromise<types.MailHooksReceiveResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/mail-events/${provider}/${token}` }, options)
  }

  /**
   * Create a mail hook.
   *
   * Enter `url` at the provider. Its bounces and complaints then count for this workspace alone, so create a hook here only if the account of the provider sends for no other workspace. The operator creates the hooks of an account that sends for several, with `rapport mail-hook create`. A workspace has at most 20 mail hooks.
   *
   * Requires the role ADMIN.
   */
  create(body: types.MailHooksCreateData['body'], options?: RequestOptions): ApiPromise<types.MailHooksCreateResponse> {
    return this.client.request({ method: 'POST', path: '/mail-hooks', body, isIdempotent: true }, options)
  }

  /**
   * List mail hooks.
   *
   * Returns the mail hooks of the workspace, without their secrets.
   *
   * Requires the role ADMIN.
   */
  list(query?: types.MailHooksListData['query'], options?: RequestOptions): PagePromise<types.MailHooksListResponse> {
    return this.client.requestPage({ path: '/mail-hooks', query }, options)
  }

  /**
   * Retrieve a mail hook.
   *
   * Returns the mail hook without its secret.
   *
   * Requires the role ADMIN.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.MailHooksGetResponse> {
    return this.client.request({ path: encodePath`/mail-hooks/${id}` }, options)
  }

  /**
   * Delete a mail hook.
   *
   * Messages to its URL are refused from now on.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/mail-hooks/${id}` }, options)
  }
}

export class Sessions extends Resource {
  /**
   * List your sessions.
   *
   * Returns your sessions in all workspaces. An API key has no sessions.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.SessionsListData['query'], options?: RequestOptions): PagePromise<types.SessionsListResponse> {
    return this.client.requestPage({ path: '/sessions', query }, options)
  }

  /**
   * End a session.
   *
   * The token of the session is invalid immediately. You can end only your own sessions.
   *
   * Requires the role VIEWER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/sessions/${id}` }, options)
  }
}

export class Workspaces extends Resource {
  /**
   * List your workspaces.
   *
   * Returns your workspaces and your role in each. `POST /auth/login` with `workspaceId` creates a session in one of them.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.WorkspacesListData['query'], options?: RequestOptions): PagePromise<types.WorkspacesListResponse> {
    return this.client.requestPage({ path: '/workspaces', query }, options)
  }
}

export class ApiKeys extends Resource {
  /**
   * Create an API key.
   *
   * The role of the key is at most your own. `key` is returned in this response only.
   *
   * Requires the role ADMIN.
   */
  create(body: types.ApiKeysCreateData['body'], options?: RequestOptions): ApiPromise<types.ApiKeysCreateResponse> {
    return this.client.request({ method: 'POST', path: '/api-keys', body, isIdempotent: true }, options)
  }

  /**
   * List API keys.
   *
   * Returns the API keys of the workspace, without the keys themselves.
   *
   * Requires the role ADMIN.
   */
  list(query?: types.ApiKeysListData['query'], options?: RequestOptions): PagePromise<types.ApiKeysListResponse> {
    return this.client.requestPage({ path: '/api-keys', query }, options)
  }

  /**
   * Retrieve an API key.
   *
   * Returns the name, the role and the prefix of the key, but not the key itself.
   *
   * Requires the role ADMIN.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.ApiKeysGetResponse> {
    return this.client.request({ path: encodePath`/api-keys/${id}` }, options)
  }

  /**
   * Revoke an API key.
   *
   * Takes effect immediately: the next request with the key returns 401.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/api-keys/${id}` }, options)
  }
}

export class Workspace extends Resource {
  /**
   * Retrieve the workspace.
   *
   * Returns the workspace of the credential.
   *
   * Requires the role VIEWER.
   */
  get(options?: RequestOptions): ApiPromise<types.WorkspaceGetResponse> {
    return this.client.request({ path: '/workspace' }, options)
  }

  /**
   * Update the workspace.
   *
   * Updates the name, the currency, the language, the sender and the postal address of newsletters, the logo and the accent color of hosted pages, and the rules for changed addresses and for tracking without consent. Omitted fields stay unchanged.
   *
   * Requires the role ADMIN.
   */
  update(body: types.WorkspaceUpdateData['body'], options?: RequestOptions): ApiPromise<types.WorkspaceUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: '/workspace', body }, options)
  }

  /**
   * Delete the workspace.
   *
   * Deletes the workspace and everything in it, permanently. `name` must be its name. All API keys and sessions end immediately. Users without another workspace are deleted too.
   *
   * Requires the role OWNER.
   */
  delete(body: types.WorkspaceDeleteData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: '/workspace', body }, options)
  }

  /**
   * Retrieve the usage of the quotas.
   *
   * Returns the use and the limit of each quota of the workspace. What happens at a limit depends on the quota: most reject a request with 409 and the code `quota_exceeded`.
   *
   * Requires the role VIEWER.
   */
  usage(options?: RequestOptions): ApiPromise<types.WorkspaceUsageResponse> {
    return this.client.request({ path: '/workspace/usage' }, options)
  }
}

export class Invites extends Resource {
  /**
   * Create an invite.
   *
   * Emails an invite that expires after 7 days. The role is at most your own. Returns 409 if the address belongs to a member. An address receives at most one invite in 10 minutes and three a day, all its forms (upper case, `+tag`) together, also after an invite was deleted. By default, a workspace sends at most 500 invites and test emails a day. More requests return 409 with `retry-after`. Returns 409 with the code `opted_out` if the address is suppressed as `BOUNCED`, `COMPLAINED` or `MANUAL`; an opt-out from newsletters stops no invite. Returns 403 if the operator requires a verified email address and no owner has verified theirs.
   *
   * Requires the role ADMIN.
   */
  create(body: types.InvitesCreateData['body'], options?: RequestOptions): ApiPromise<types.InvitesCreateResponse> {
    return this.client.request({ method: 'POST', path: '/invites', body, isIdempotent: true }, options)
  }

  /**
   * List invites.
   *
   * Returns the pending invites of the workspace, without their tokens.
   *
   * Requires the role ADMIN.
   */
  list(query?: types.InvitesListData['query'], options?: RequestOptions): PagePromise<types.InvitesListResponse> {
    return this.client.requestPage({ path: '/invites', query }, options)
  }

  /**
   * Retrieve an invite.
   *
   * Returns a pending invite. Accepted and deleted invites are not found.
   *
   * Requires the role ADMIN.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.InvitesGetResponse> {
    return this.client.request({ path: encodePath`/invites/${id}` }, options)
  }

  /**
   * Revoke an invite.
   *
   * The link in the email is invalid immediately.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/invites/${id}` }, options)
  }

  /**
   * Resend an invite.
   *
   * Emails a new link that expires after 7 days; the previous link is invalid immediately. An address receives at most one invite in 10 minutes and three a day, all its forms (upper case, `+tag`) together, also after an invite was deleted. By default, a workspace sends at most 500 invites and test emails a day. More requests return 409 with `retry-after`. Returns 409 with the code `opted_out` if the address is suppressed as `BOUNCED`, `COMPLAINED` or `MANUAL`; an opt-out from newsletters stops no invite. Returns 403 if the operator requires a verified email address and no owner has verified theirs.
   *
   * Requires the role ADMIN.
   */
  resend(id: string, options?: RequestOptions): ApiPromise<types.InvitesResendResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/invites/${id}/resend`, isIdempotent: true }, options)
  }
}

export class Members extends Resource {
  /**
   * List members.
   *
   * Returns the members of the workspace and their roles.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.MembersListData['query'], options?: RequestOptions): PagePromise<types.MembersListResponse> {
    return this.client.requestPage({ path: '/members', query }, options)
  }

  /**
   * Retrieve a member.
   *
   * Returns the user and the role in the workspace.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.MembersGetResponse> {
    return this.client.request({ path: encodePath`/members/${id}` }, options)
  }

  /**
   * Update the role of a member.
   *
   * The new role is at most your own. API keys that the member created are lowered to the new role, and invites that the new role may not create are revoked. Returns 409 for the last OWNER.
   *
   * Requires the role ADMIN.
   */
  update(id: string, body: types.MembersUpdateData['body'], options?: RequestOptions): ApiPromise<types.MembersUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/members/${id}`, body }, options)
  }

  /**
   * Remove a member.
   *
   * Ends the sessions of the member immediately, revokes the API keys and invites that they created, and clears the assignee of their tasks, with a `task.updated` event for each. Members can remove themselves; removing another member requires the role ADMIN. Returns 409 for the last OWNER.
   *
   * Requires the role VIEWER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/members/${id}` }, options)
  }
}

export class AuditLog extends Resource {
  /**
   * List audit log entries.
   *
   * Returns logins, changes to the team, API keys and webhooks, campaign sends, exports and deletions, newest first. Entries cannot be changed or deleted.
   *
   * A login is `session.created`, and its end `session.deleted`. A wrong password is `login.failed`, or `login.locked_out` if further attempts must wait because of it; attempts during the wait are not recorded. These and `password_reset.requested` and `password_reset.completed` are recorded in each workspace of the user; `subjectId` is the user.
   *
   * Requires the role ADMIN.
   */
  list(query?: types.AuditLogListData['query'], options?: RequestOptions): PagePromise<types.AuditLogListResponse> {
    return this.client.requestPage({ path: '/audit-log', query }, options)
  }
}

export class Contacts extends Resource {
  /**
   * Create a contact.
   *
   * Emits `contact.created`. Returns 409 with `contactId` if the workspace already has a contact with this email address or external id; for the external id, `issues` names the field.
   *
   * Requires the role MEMBER.
   */
  create(body: types.ContactsCreateData['body'], options?: RequestOptions): ApiPromise<types.ContactsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/contacts', body, isIdempotent: true }, options)
  }

  /**
   * Create or update a contact by external id or email address.
   *
   * Looks for the contact by `externalId`, then by `email`; the header `matched-by` says which one found it. Sets the fields in the body and leaves the others unchanged. Safe to call concurrently.
   *
   * A contact that is found by `externalId` gets another `email` if no contact has it. A contact without an external id that is found by `email` gets `externalId`. Returns 409 `identity_conflict` with `contactIds` if the keys belong to different contacts, or if the address belongs to a contact with another external id.
   *
   * Requires the role MEMBER.
   */
  upsert(body: types.ContactsUpsertData['body'], options?: RequestOptions): ApiPromise<types.ContactsUpsertResponse> {
    return this.client.request({ method: 'PUT', path: '/contacts', body }, options)
  }

  /**
   * List contacts.
   *
   * Returns the contacts that match all filters. `customField.<key>=<value>` filters by a custom field. `count=true` adds `total`. Returns 409 if something that the segment refers to was deleted, and 503 if the filter or segment takes longer than five seconds.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.ContactsListData['query'] & { [filter: `customField.${string}`]: string }, options?: RequestOptions): PagePromise<types.ContactsListResponse> {
    return this.client.requestPage({ path: '/contacts', query }, options)
  }

  /**
   * Export contacts.
   *
   * Streams all contacts that match the filters, as CSV or NDJSON. In a CSV, an apostrophe precedes every text that a spreadsheet would run as a formula; an import removes it.
   *
   * While another export of the workspace is under way, it returns 409 with the code `quota_exceeded`. An export whose client reads nothing for 30 seconds, or less than 512 kbit/s on average, is cut off.
   *
   * Requires the role MEMBER.
   */
  export(query?: types.ContactsExportData['query'] & { [filter: `customField.${string}`]: string }, options?: RequestOptions): ApiPromise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return this.client.requestFile({ path: '/contacts/export', query }, options)
  }

  /**
   * Retrieve a contact.
   *
   * Returns the contact with its tags and custom field values.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.ContactsGetResponse> {
    return this.client.request({ path: encodePath`/contacts/${id}` }, options)
  }

  /**
   * Update a contact.
   *
   * Merges `customFieldValues` (`null` removes a key) and replaces `tags`. Emits `contact.updated`; a no-op update emits no event.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.ContactsUpdateData['body'], options?: RequestOptions): ApiPromise<types.ContactsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/contacts/${id}`, body }, options)
  }

  /**
   * Delete a contact.
   *
   * Deletes the contact with its `OPEN` deals without a company, tasks, submissions, subscriptions and emails. Its other deals remain without their name, with `contactErasedAt`. Emits `contact.deleted` with the id, `deal.deleted` or `task.deleted` for each deal and task that is deleted, and `deal.updated` with `changes: null` for each deal that remains, but no events of the subscriptions. Within a minute, the `data` of its events becomes `{ id, redacted: true }`, and the responses to these events and its errors as a recipient are removed. What quotes an address elsewhere expires by retention, 37 days by default. An opt-out is kept as a keyed hash, so that an import cannot undo it.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/contacts/${id}` }, options)
  }

  /**
   * Export a person.
   *
   * Returns everything that is kept about a person as one JSON file, for the right of access: the contact, subscriptions with their proofs of consent, submissions, deals, tasks, emails and activity. The audit log records it as `contact.exported`. The response is streamed: if the contact is deleted meanwhile, it is cut off.
   *
   * Requires the role MEMBER.
   */
  exportPerson(id: string, options?: RequestOptions): ApiPromise<types.ContactsExportPersonResponse> {
    return this.client.request({ path: encodePath`/contacts/${id}/export` }, options)
  }

  /**
   * Add tags to a contact.
   *
   * Adds the tags that the contact does not have yet. Emits `contact.updated`; a no-op emits no event.
   *
   * Requires the role MEMBER.
   */
  addTags(id: string, body: types.ContactsAddTagsData['body'], options?: RequestOptions): ApiPromise<types.ContactsAddTagsResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/contacts/${id}/tags`, body, isIdempotent: true }, options)
  }

  /**
   * Remove a tag from a contact.
   *
   * Removing a tag that the contact does not have is a no-op.
   *
   * Requires the role MEMBER.
   */
  removeTag(id: string, tag: string, options?: RequestOptions): ApiPromise<types.ContactsRemoveTagResponse> {
    return this.client.request({ method: 'DELETE', path: encodePath`/contacts/${id}/tags/${tag}` }, options)
  }

  /**
   * Merge a duplicate into a contact.
   *
   * Fills empty fields from the duplicate, combines tags and custom field values, and moves the deals, tasks and subscriptions of the duplicate. The strictest opt-out wins. Deletes the duplicate. Emits `contact.merged`, and `deal.updated` or `task.updated` for each deal and task that moves.
   *
   * Requires the role MEMBER.
   */
  merge(id: string, body: types.ContactsMergeData['body'], options?: RequestOptions): ApiPromise<types.ContactsMergeResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/contacts/${id}/merge`, body, isIdempotent: true }, options)
  }

  /**
   * List the activity of a contact.
   *
   * Returns the events of the contact and of the contacts that were merged into it, newest first.
   *
   * Requires the role VIEWER.
   */
  listActivity(id: string, query?: types.ContactsListActivityData['query'], options?: RequestOptions): PagePromise<types.ContactsListActivityResponse> {
    return this.client.requestPage({ path: encodePath`/contacts/${id}/activity`, query }, options)
  }

  /**
   * Create or update up to 100 contacts.
   *
   * Each contact succeeds or fails by itself, and the results are in the order of the contacts. Contacts with the same email take effect one after the other. Emits `contact.created` or `contact.updated` for each contact that changed; a no-op update is `UNCHANGED` and emits no event.
   *
   * The limit counts one request: 20 requests sync 2,000 contacts. A body has at most 1 MiB and 10,000 values. For larger amounts, use `POST /contacts/import`.
   *
   * The contacts that succeed are written in one transaction. After a 503 or a lost response, send the request again: with the same `Idempotency-Key` it takes effect once, and with `onConflict` `skip` or `update` it creates no contact twice.
   *
   * Requires the role MEMBER.
   */
  batch(body: types.ContactsBatchData['body'], options?: RequestOptions): ApiPromise<types.ContactsBatchResponse> {
    return this.client.request({ method: 'POST', path: '/contacts/batch', body, isIdempotent: true }, options)
  }

  /**
   * Create the receipt of an erasure.
   *
   * Searches all records of the workspace for a contact that was deleted: for its id, its UUID, and the addresses in the body, as text, in URLs, HTML, quoted-printable and base64. Returns each place in which something is left, with the reason. Returns 409 until the erasure is done, usually within a minute, and 503 if the search takes longer than ten seconds: `rapport erasure verify` has no such limit, and searches the installation too. Changes nothing.
   *
   * Requires the role ADMIN.
   */
  createErasureReceipt(id: string, body: types.ContactsCreateErasureReceiptData['body'], options?: RequestOptions): ApiPromise<types.ContactsCreateErasureReceiptResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/contacts/${id}/erasure-receipt`, body, isIdempotent: true }, options)
  }

  /**
   * Record an opt-out.
   *
   * Records what the person said by telephone or letter. It is as good as their own unsubscribing: only they revert it. With `listId` they leave this list, otherwise every list, also those to come. Emits `subscription.unsubscribed` for each list. The proof of consent keeps it as `OPERATOR`, with the user or API key and the note, and the audit log records it. Once more is no error: the audit log has it each time, the proof once. An admin can undo a mistake for ten minutes.
   *
   * Requires the role MEMBER.
   */
  optOut(id: string, body?: types.ContactsOptOutData['body'], options?: RequestOptions): ApiPromise<types.ContactsOptOutResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/contacts/${id}/opt-out`, body, isIdempotent: true }, options)
  }

  /**
   * Undo an opt-out that was recorded by mistake.
   *
   * For ten minutes after `POST /contacts/{id}/opt-out` with the same `listId`: the subscriptions that it ended open again. Returns 409 with the code `opted_out` after that, if the person has said the same, or if a change of address or a merge has made it hold for two addresses: then only they revert it. The audit log records it.
   *
   * Requires the role ADMIN.
   */
  undoOptOut(id: string, query?: types.ContactsUndoOptOutData['query'], options?: RequestOptions): ApiPromise<types.ContactsUndoOptOutResponse> {
    return this.client.request({ method: 'DELETE', path: encodePath`/contacts/${id}/opt-out`, query }, options)
  }

  /**
   * Retrieve what a contact chose about tracking.
   *
   * Returns whether opens and clicks of the contact may be recorded. The export of the contact contains the proofs.
   *
   * Requires the role VIEWER.
   */
  getTrackingConsent(id: string, options?: RequestOptions): ApiPromise<types.ContactsGetTrackingConsentResponse> {
    return this.client.request({ path: encodePath`/contacts/${id}/tracking-consent` }, options)
  }

  /**
   * Record that a contact denies tracking.
   *
   * Records what the person said by telephone or letter. It counts at once, also for emails that were sent before: their pixels and links still work, and record nothing of the contact. The proof keeps it as `OPERATOR`, with the user or API key and the note, and the audit log records it. `GRANTED` is refused with 409 and the code `consent_required`: only the person can grant, by a form field with the purpose `TRACKING` or on their preferences page. Once more is a no-op. Emits `tracking_consent.changed`.
   *
   * Requires the role MEMBER.
   */
  setTrackingConsent(id: string, body: types.ContactsSetTrackingConsentData['body'], options?: RequestOptions): ApiPromise<types.ContactsSetTrackingConsentResponse> {
    return this.client.request({ method: 'PUT', path: encodePath`/contacts/${id}/tracking-consent`, body }, options)
  }
}

export class Companies extends Resource {
  /**
   * Create a company.
   *
   * Emits `company.created`. Returns 409 with `companyId` if the workspace already has a company with this domain or external id; `issues` names the field.
   *
   * Requires the role MEMBER.
   */
  create(body: types.CompaniesCreateData['body'], options?: RequestOptions): ApiPromise<types.CompaniesCreateResponse> {
    return this.client.request({ method: 'POST', path: '/companies', body, isIdempotent: true }, options)
  }

  /**
   * Create or update a company by external id or domain.
   *
   * Looks for the company by `externalId`, then by `domain`; the header `matched-by` says which one found it. Needs one of the two. Sets the fields in the body and leaves the others unchanged. Safe to call concurrently.
   *
   * A company that is found by `externalId` gets another `domain` if no company has it. A company without an external id that is found by `domain` gets `externalId`. Returns 409 `identity_conflict` with `companyIds` if the keys belong to different companies, or if the domain belongs to a company with another external id.
   *
   * Requires the role MEMBER.
   */
  upsert(body: types.CompaniesUpsertData['body'], options?: RequestOptions): ApiPromise<types.CompaniesUpsertResponse> {
    return this.client.request({ method: 'PUT', path: '/companies', body }, options)
  }

  /**
   * List companies.
   *
   * Returns the companies that match all filters. `customField.<key>=<value>` filters by a custom field.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.CompaniesListData['query'], options?: RequestOptions): PagePromise<types.CompaniesListResponse> {
    return this.client.requestPage({ path: '/companies', query }, options)
  }

  /**
   * Create or update up to 100 companies.
   *
   * Each company succeeds or fails by itself, and the results are in the order of the companies. Companies with the same domain or external id take effect one after the other. Emits `company.created` or `company.updated` for each company that changed; a no-op update is `UNCHANGED` and emits no event. The companies that succeed are written in one transaction. A body has at most 1 MiB and 10,000 values.
   *
   * Requires the role MEMBER.
   */
  batch(body: types.CompaniesBatchData['body'], options?: RequestOptions): ApiPromise<types.CompaniesBatchResponse> {
    return this.client.request({ method: 'POST', path: '/companies/batch', body, isIdempotent: true }, options)
  }

  /**
   * Retrieve a company.
   *
   * Returns the company with its tags and custom field values.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.CompaniesGetResponse> {
    return this.client.request({ path: encodePath`/companies/${id}` }, options)
  }

  /**
   * Update a company.
   *
   * Merges `customFieldValues` (`null` removes a key) and replaces `tags`. The `company` text of its contacts does not change. Emits `company.updated`; a no-op update emits no event.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.CompaniesUpdateData['body'], options?: RequestOptions): ApiPromise<types.CompaniesUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/companies/${id}`, body }, options)
  }

  /**
   * Delete a company.
   *
   * Returns 409 `in_use` with `dealCount` while deals name the company. Its contacts remain: within a minute, their `companyId` is `null`. Emits `company.deleted`, but no events of the contacts.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/companies/${id}` }, options)
  }

  /**
   * List the contacts of a company.
   *
   * Returns the contacts whose `companyId` is the company, newest first.
   *
   * Requires the role VIEWER.
   */
  listContacts(id: string, query?: types.CompaniesListContactsData['query'], options?: RequestOptions): PagePromise<types.CompaniesListContactsResponse> {
    return this.client.requestPage({ path: encodePath`/companies/${id}/contacts`, query }, options)
  }

  /**
   * List the activity of a company.
   *
   * Returns the events of the company, of its deals and of its notes, newest first. The events of its contacts are in the activity of each contact.
   *
   * Requires the role VIEWER.
   */
  listActivity(id: string, query?: types.CompaniesListActivityData['query'], options?: RequestOptions): PagePromise<types.CompaniesListActivityResponse> {
    return this.client.requestPage({ path: encodePath`/companies/${id}/activity`, query }, options)
  }
}

export class CustomFields extends Resource {
  /**
   * Create a custom field.
   *
   * Values of contacts or deals are validated against the type and the options of the field. Returns 409 if `key` is already in use for the `object`.
   *
   * Requires the role MEMBER.
   */
  create(body: types.CustomFieldsCreateData['body'], options?: RequestOptions): ApiPromise<types.CustomFieldsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/custom-fields', body, isIdempotent: true }, options)
  }

  /**
   * List custom fields.
   *
   * Returns the custom fields of the workspace.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.CustomFieldsListData['query'], options?: RequestOptions): PagePromise<types.CustomFieldsListResponse> {
    return this.client.requestPage({ path: '/custom-fields', query }, options)
  }

  /**
   * Retrieve a custom field.
   *
   * Returns the definition of the custom field.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.CustomFieldsGetResponse> {
    return this.client.request({ path: encodePath`/custom-fields/${id}` }, options)
  }

  /**
   * Update a custom field.
   *
   * Updates `label` and `options`. `object`, `key` and `type` cannot be changed.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.CustomFieldsUpdateData['body'], options?: RequestOptions): ApiPromise<types.CustomFieldsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/custom-fields/${id}`, body }, options)
  }

  /**
   * Delete a custom field.
   *
   * The field is deleted immediately; its values are removed from all contacts or deals in the background. Until they are removed, creating a field with the same `object` and `key` returns 409. Webhooks whose filter names the field are disabled.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/custom-fields/${id}` }, options)
  }
}

export class Imports extends Resource {
  /**
   * Import contacts.
   *
   * The body is a file in UTF-8, or in another `encoding`, of up to 4 GiB: either CSV with a header row (`text/csv`; separated by comma, semicolon, tab or `|`, or as a first line such as `sep=;` says), or NDJSON with one object per line in the format of `POST /contacts` (`application/x-ndjson`). The body may be compressed with `content-encoding: gzip`, at most to a hundredth of its size.
   *
   * Columns are matched by name in any usual spelling (`Email`, `first_name`, `First Name`), and custom fields by `customField.<key>`, key or label. `name` is split at its first space. `columns` maps other names, and `source` reads the export of another system as it is. An unknown column returns 400, unless `unknownColumns=ignore`, which never leaves out a column whose name or values speak of consent, opt-in or opt-out: map it to `status`, or to `null`. Well-known ones such as `subscribed_to_emails`, `Unsubscribed from all email`, `do_not_contact` and `Email Opt Out` are read without a mapping, with yes and no in six languages. Tags are separated by `;`, `,` or line breaks, or are an array such as `["a","b"]`. An address may have a name: `Ada <ada@example.com>`. Empty cells at the end of a row may be missing. A cell such as `="0049"` is a text. An exported file can be imported without changes.
   *
   * `companyExternalId` and `companyDomain` name the company of a contact. A key that no company has is an error of its row, unless `createCompanies=true` creates the company, with the name in `companyName`.
   *
   * Numbers may have a decimal comma and thousands separators. The whole column decides: with `1.234,56` in a column, `1.234` is 1234. A column with both marks, or only with numbers that can be read in two ways, fails the import before a contact is written.
   *
   * The column `status` says what a person wants: `CONFIRMED`, `PENDING`, `UNSUBSCRIBED`, `BOUNCED`, `COMPLAINED`, or a word of other systems such as `subscribed`, `active`, `unconfirmed`, `blocklisted`, `cleaned`, `archived`. An unknown word is an error of its row, which lists the known ones. A row with `unsubscribedAt` is an opt-out, whatever its status says, and so is one whose `emailSubscribedStatus` is that of an export of Rapport. `UNSUBSCRIBED` with `listId` is an opt-out of the list; without it, and for `blocklisted`, bounces and complaints, the address is suppressed in the workspace. `PENDING` subscribes without an email. `non-subscribed`, `archived` and an empty cell make a contact without a subscription.
   *
   * **An import never widens consent.** The file is read twice: the first pass commits all opt-outs, bounces and complaints, also of rows that become no contact, and the second writes people. So these win over every confirmation of the same address or `externalId`, in whatever order the rows stand, and over what is stored; an import that is canceled or fails between its rows makes no address mailable that the whole file does not. `confirmedAt` and `optInAddress` go into the proof of consent, marked `claimed`; `unsubscribedAt` is the moment of an opt-out or bounce. Moments are ISO 8601 or as other systems write them (`2026-11-21 06:35:49`, `21-11-2026`, `21 Nov 2026 6:35 AM`, seconds or milliseconds since 1970), in UTC without a time zone, if they can be read in one way only; a date of zeros is none.
   *
   * The rows are imported in the background; `GET /imports/{id}` shows the progress. Invalid rows are counted as `failed` and listed with their line numbers; they do not stop the import. A value that cannot be read is left out with a warning, and does not fail its row, unless it is a key, a status or a consent. An `externalId` such as `1.23457E+14` is an error, because a spreadsheet has shortened it. A row of NDJSON with a key twice is an error, and a 400 if it is in the first MiB. An import emits one `import.completed` event instead of one event per contact. With `events=each`, it also emits the events of each contact and company.
   *
   * A workspace can have 5 imports that are received, queued or running; one more returns 409 with the code `quota_exceeded`. Imports take turns, so a large one delays the others little.
   *
   * Requires the role MEMBER.
   */
  create(upload: Upload, query?: types.ImportsCreateData['query'], options?: RequestOptions): ApiPromise<types.ImportsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/contacts/import', query, upload, isIdempotent: true }, options)
  }

  /**
   * List imports.
   *
   * Returns the imports of the workspace with their counts.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.ImportsListData['query'], options?: RequestOptions): PagePromise<types.ImportsListResponse> {
    return this.client.requestPage({ path: '/imports', query }, options)
  }

  /**
   * Retrieve an import.
   *
   * Returns the import with its counts so far. Request it again until `status` is `COMPLETED`, `FAILED` or `CANCELED`.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.ImportsGetResponse> {
    return this.client.request({ path: encodePath`/imports/${id}` }, options)
  }

  /**
   * Cancel an import.
   *
   * Stops an import. Its status becomes `CANCELED`, the contacts and opt-outs that it has imported remain, and its file is deleted. Emits `import.completed` unless it was a dry run or still being uploaded; the upload then fails with 409. An import that has ended returns 409.
   *
   * Requires the role MEMBER.
   */
  cancel(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/imports/${id}` }, options)
  }
}

export class Suppressions extends Resource {
  /**
   * Import suppressions.
   *
   * Suppresses all addresses of a file of any length, up to 4 GiB. The body is CSV (`text/csv`) or NDJSON (`application/x-ndjson`), in UTF-8 or another `encoding`, and may be compressed with `content-encoding: gzip`. One column of addresses will do, with the header `email` or without a header. The columns `reason`, `saidAt` (`createdAt`, `created`) and `listId` are read if there, also in the files of SendGrid, Mailgun, Postmark, Brevo, Amazon SES, SparkPost, Mandrill, MailUp, Keila, Ghost, HubSpot and Loops. A cell may have several addresses. `reason` is `COMPLAINED`, `OPTED_OUT`, `BOUNCED` or `MANUAL`, a word of another system such as `unsubscribed`, `blocklisted`, `cleaned` or `spam`, or the response of a mail server. **An address that can be read is suppressed, whatever else its row says**: an unknown reason is that of the parameter, a moment that cannot be read is now, an unknown list is all of them; each is a warning. Moments are read as in an import of contacts.
   *
   * Reasons add up, and each known one stays. The subscriptions of contacts with these addresses end at once. The import is an Import as those of contacts, with the kind `SUPPRESSIONS`: `created` counts new suppressions, `updated` those that got another reason, `skipped` rows that changed nothing, and `suppressed` all of them. Imports of both kinds share the quota.
   *
   * Requires the role MEMBER.
   */
  import(upload: Upload, query?: types.SuppressionsImportData['query'], options?: RequestOptions): ApiPromise<types.SuppressionsImportResponse> {
    return this.client.request({ method: 'POST', path: '/suppressions/import', query, upload, isIdempotent: true }, options)
  }

  /**
   * Suppress an address.
   *
   * The workspace sends nothing to the address from now on, on the list or on any, whichever contact has it. Its subscriptions end at once, with `subscription.unsubscribed` for each. Returns 200 if the same was said before: then `saidAt` is renewed. The audit log records it each time.
   *
   * Requires the role MEMBER.
   */
  create(body: types.SuppressionsCreateData['body'], options?: RequestOptions): ApiPromise<types.SuppressionsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/suppressions', body, isIdempotent: true }, options)
  }

  /**
   * List suppressions.
   *
   * Returns the suppressions for all lists; `listId` returns others. They contain no addresses: only keyed hashes are stored. `email` finds those of an address, needs the role MEMBER, and is recorded in the audit log.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.SuppressionsListData['query'], options?: RequestOptions): PagePromise<types.SuppressionsListResponse> {
    return this.client.requestPage({ path: '/suppressions', query }, options)
  }

  /**
   * Retrieve a suppression.
   *
   * Returns one statement against email to an address.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.SuppressionsGetResponse> {
    return this.client.request({ path: encodePath`/suppressions/${id}` }, options)
  }

  /**
   * Lift a suppression.
   *
   * Lifts a bounce or a block of the address, from whatever source. Subscriptions that only this ended are again what they were. What the person said (OPTED_OUT, COMPLAINED) is theirs to revert: the response is 409 with the code `opted_out`. The audit log records the note.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, body: types.SuppressionsDeleteData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/suppressions/${id}`, body }, options)
  }
}

export class Forms extends Resource {
  /**
   * Create a form.
   *
   * A field without `id` gets one that is derived from its label.
   *
   * Requires the role MEMBER.
   */
  create(body: types.FormsCreateData['body'], options?: RequestOptions): ApiPromise<types.FormsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/forms', body, isIdempotent: true }, options)
  }

  /**
   * List forms.
   *
   * Returns the forms of the workspace.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.FormsListData['query'], options?: RequestOptions): PagePromise<types.FormsListResponse> {
    return this.client.requestPage({ path: '/forms', query }, options)
  }

  /**
   * Retrieve a form.
   *
   * Returns the form with its fields.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.FormsGetResponse> {
    return this.client.request({ path: encodePath`/forms/${id}` }, options)
  }

  /**
   * Update a form.
   *
   * `fields` replaces all fields. Existing submissions are not changed.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.FormsUpdateData['body'], options?: RequestOptions): ApiPromise<types.FormsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/forms/${id}`, body }, options)
  }

  /**
   * Delete a form.
   *
   * Deletes the form and its submissions. The contacts that it created are kept.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/forms/${id}` }, options)
  }

  /**
   * List the submissions of a form.
   *
   * Returns the submissions of the form, newest first.
   *
   * Requires the role VIEWER.
   */
  listSubmissions(id: string, query?: types.FormsListSubmissionsData['query'], options?: RequestOptions): PagePromise<types.FormsListSubmissionsResponse> {
    return this.client.requestPage({ path: encodePath`/forms/${id}/submissions`, query }, options)
  }

  /**
   * Retrieve a submission.
   *
   * Returns one submission with the exact wording of each consent.
   *
   * Requires the role VIEWER.
   */
  getSubmission(id: string, submissionId: string, options?: RequestOptions): ApiPromise<types.FormsGetSubmissionResponse> {
    return this.client.request({ path: encodePath`/forms/${id}/submissions/${submissionId}` }, options)
  }

  /**
   * Delete a submission.
   *
   * Deletes the submission. Its contact is kept.
   *
   * Requires the role MEMBER.
   */
  deleteSubmission(id: string, submissionId: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/forms/${id}/submissions/${submissionId}` }, options)
  }
}

export class Lists extends Resource {
  /**
   * Create a list.
   *
   * A new list has no subscribers.
   *
   * Requires the role MEMBER.
   */
  create(body: types.ListsCreateData['body'], options?: RequestOptions): ApiPromise<types.ListsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/lists', body, isIdempotent: true }, options)
  }

  /**
   * List lists.
   *
   * Returns the lists of the workspace with their number of confirmed subscribers.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.ListsListData['query'], options?: RequestOptions): PagePromise<types.ListsListResponse> {
    return this.client.requestPage({ path: '/lists', query }, options)
  }

  /**
   * Retrieve a list.
   *
   * Returns the list with its number of confirmed subscribers, and of confirmation emails that wait.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.ListsGetResponse> {
    return this.client.request({ path: encodePath`/lists/${id}` }, options)
  }

  /**
   * Update a list.
   *
   * A change of `doubleOptIn` or `publicSignup` affects new subscribers only.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.ListsUpdateData['body'], options?: RequestOptions): ApiPromise<types.ListsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/lists/${id}`, body }, options)
  }

  /**
   * Delete a list.
   *
   * Deletes the list and its subscriptions. Emits `list.deleted`, but no events of the subscriptions. The `emailSubscribedStatus` of the subscribers follows within seconds, and within minutes for a million of them. Returns 409 while a campaign to the list is SENDING or PAUSED.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/lists/${id}` }, options)
  }

  /**
   * Count the subscribers of a list.
   *
   * Returns the exact number of subscriptions in each status, such as after an import.
   *
   * Requires the role VIEWER.
   */
  countSubscribers(id: string, options?: RequestOptions): ApiPromise<types.ListsCountSubscribersResponse> {
    return this.client.request({ path: encodePath`/lists/${id}/counts` }, options)
  }

  /**
   * List the subscribers of a list.
   *
   * Returns the subscriptions to the list, in any status unless `status` is given.
   *
   * Requires the role VIEWER.
   */
  listSubscribers(id: string, query?: types.ListsListSubscribersData['query'], options?: RequestOptions): PagePromise<types.ListsListSubscribersResponse> {
    return this.client.requestPage({ path: encodePath`/lists/${id}/subscribers`, query }, options)
  }

  /**
   * Subscribe a contact.
   *
   * CONFIRMED is your word that the contact has consented: single opt-in is built with it, by a call from your own back end. With PENDING, sends a confirmation email within the limits of `POST /public/lists/{id}/subscribe`; beyond them, the response is the same. Returns 200 if the contact is PENDING or CONFIRMED; a confirmed subscription stays confirmed. Returns 409 with the code `opted_out` if the contact has opted out: then only the contact can subscribe again. A contact that you removed from the list can be subscribed again.
   *
   * Requires the role MEMBER.
   */
  addSubscriber(id: string, body: types.ListsAddSubscriberData['body'], options?: RequestOptions): ApiPromise<types.ListsAddSubscriberResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/lists/${id}/subscribers`, body, isIdempotent: true }, options)
  }

  /**
   * Retrieve a subscription.
   *
   * Returns 404 if the contact never had a subscription to the list.
   *
   * Requires the role VIEWER.
   */
  getSubscriber(id: string, contactId: string, options?: RequestOptions): ApiPromise<types.ListsGetSubscriberResponse> {
    return this.client.request({ path: encodePath`/lists/${id}/subscribers/${contactId}` }, options)
  }

  /**
   * Remove a contact from a list.
   *
   * The subscription is kept with the status UNSUBSCRIBED and emits `subscription.unsubscribed`. This is not an opt-out: the contact can be subscribed again.
   *
   * Requires the role MEMBER.
   */
  removeSubscriber(id: string, contactId: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/lists/${id}/subscribers/${contactId}` }, options)
  }
}

export class Segments extends Resource {
  /**
   * Create a segment.
   *
   * Saves a filter. Returns 400 with the path of each part that names an unknown field, list, campaign or pipeline, or that does not fit the type of its field.
   *
   * Requires the role MEMBER.
   */
  create(body: types.SegmentsCreateData['body'], options?: RequestOptions): ApiPromise<types.SegmentsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/segments', body, isIdempotent: true }, options)
  }

  /**
   * List segments.
   *
   * Returns the segments of the workspace. Their contacts are not counted: see `segments.preview`.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.SegmentsListData['query'], options?: RequestOptions): PagePromise<types.SegmentsListResponse> {
    return this.client.requestPage({ path: '/segments', query }, options)
  }

  /**
   * Preview a filter.
   *
   * Counts the contacts that match a filter, and returns some of them. Saves nothing. Returns 503 if the filter takes longer than five seconds.
   *
   * Requires the role VIEWER.
   */
  preview(body: types.SegmentsPreviewData['body'], options?: RequestOptions): ApiPromise<types.SegmentsPreviewResponse> {
    return this.client.request({ method: 'POST', path: '/segments/preview', body, isIdempotent: true }, options)
  }

  /**
   * Retrieve a segment.
   *
   * Returns the segment with its filter.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.SegmentsGetResponse> {
    return this.client.request({ path: encodePath`/segments/${id}` }, options)
  }

  /**
   * Update a segment.
   *
   * A new filter does not affect campaigns that were sent: their recipients are fixed.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.SegmentsUpdateData['body'], options?: RequestOptions): ApiPromise<types.SegmentsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/segments/${id}`, body }, options)
  }

  /**
   * Delete a segment.
   *
   * Returns 409 while a campaign that is a DRAFT, SENDING or PAUSED has the segment. Ended campaigns lose it.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/segments/${id}` }, options)
  }

  /**
   * List the contacts of a segment.
   *
   * Returns the contacts that match the segment now. Returns 409 if something that the segment refers to was deleted, and 503 if it takes longer than five seconds.
   *
   * Requires the role VIEWER.
   */
  listContacts(id: string, query?: types.SegmentsListContactsData['query'], options?: RequestOptions): PagePromise<types.SegmentsListContactsResponse> {
    return this.client.requestPage({ path: encodePath`/segments/${id}/contacts`, query }, options)
  }
}

export class Campaigns extends Resource {
  /**
   * Create a campaign.
   *
   * Creates a DRAFT for one list. Without `html` and `text`, it gets a plain template. Templates are written in Liquid. A syntax error, an unknown variable, an unknown filter or a custom field that does not exist returns 400 with line and column; see `GET /template-variables`. Also returns 400 if a template has more than 5,000 tags and outputs or more than 5,000 filters, or takes too long to parse.
   *
   * Requires the role MEMBER.
   */
  create(body: types.CampaignsCreateData['body'], options?: RequestOptions): ApiPromise<types.CampaignsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/campaigns', body, isIdempotent: true }, options)
  }

  /**
   * List campaigns.
   *
   * Returns the campaigns of the workspace, without `html` and `text`.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.CampaignsListData['query'], options?: RequestOptions): PagePromise<types.CampaignsListResponse> {
    return this.client.requestPage({ path: '/campaigns', query }, options)
  }

  /**
   * Retrieve a campaign.
   *
   * Returns the campaign with its templates.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.CampaignsGetResponse> {
    return this.client.request({ path: encodePath`/campaigns/${id}` }, options)
  }

  /**
   * Update a campaign.
   *
   * Only a DRAFT can be updated. Any other status returns 409, unless `webVersion` alone is given: the page of a sent email can be switched off. Templates are checked as when a campaign is created.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.CampaignsUpdateData['body'], options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'PATCH', path: encodePath`/campaigns/${id}`, body }, options)
  }

  /**
   * Delete a campaign.
   *
   * Only a DRAFT can be deleted. Any other status returns 409, because the campaign is the record of who received the email.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/campaigns/${id}` }, options)
  }

  /**
   * Retrieve the audience of a campaign.
   *
   * Counts the subscribers that would receive the campaign now, and those that would not, by reason. Returns 409 if something that the segment of the campaign refers to was deleted.
   *
   * Requires the role VIEWER.
   */
  getAudience(id: string, options?: RequestOptions): ApiPromise<types.CampaignsGetAudienceResponse> {
    return this.client.request({ path: encodePath`/campaigns/${id}/audience` }, options)
  }

  /**
   * Preview a campaign.
   *
   * Renders the campaign for a contact, or for an example contact. Sends no email and adds no tracking; the unsubscribe link does nothing. Returns 400 if a template takes too long to render, or if the subject or the body is empty.
   *
   * Requires the role MEMBER.
   */
  preview(id: string, body?: types.CampaignsPreviewData['body'], options?: RequestOptions): ApiPromise<types.CampaignsPreviewResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/preview`, body, isIdempotent: true }, options)
  }

  /**
   * Send a campaign.
   *
   * Sends the campaign to the subscribers of the list that are confirmed at this instant; `queued` is their exact number. Returns 400 if there are none, or if the operator no longer allows the sender. Returns 409 with issues if a template uses a variable, a filter or a custom field that does not exist (anymore), or if the subject is empty for the example contact of a preview. A recipient whose subject or body is empty becomes FAILED. A campaign is sent only once: a second request returns 409, even if both requests are concurrent.
   *
   * Requires the role MEMBER.
   */
  send(id: string, options?: RequestOptions): ApiPromise<types.CampaignsSendResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/send`, isIdempotent: true }, options)
  }

  /**
   * Send a test email.
   *
   * Sends one email with `[Test]` in its subject, in any status of the campaign. Its unsubscribe link does nothing. Returns 409 (`opted_out`) if the address has opted out of the list of the campaign, or of all. Returns 400 or 409 (`domain_not_verified`) if the named sender is not allowed, as `send` does. Without one, the test comes from the address of the operator, and needs no verified domain. Returns 400 if a template takes too long to render, or if the subject or the body is empty. By default, an address receives at most five test emails a day, all its forms (upper case, `+tag`) together, and a workspace sends at most 500 test emails and invites a day; more requests return 409 with `retry-after`. If the operator requires a verified email address, only members receive test emails until an owner has verified theirs: other addresses return 403.
   *
   * Requires the role MEMBER.
   */
  sendTest(id: string, body: types.CampaignsSendTestData['body'], options?: RequestOptions): ApiPromise<types.CampaignsSendTestResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/send-test`, body, isIdempotent: true }, options)
  }

  /**
   * Retry failed recipients.
   *
   * Sends the campaign again to FAILED recipients. INTERRUPTED recipients are included only with `includeInterrupted: true`, because they may receive the email twice. `queued` is the number of recipients.
   *
   * Requires the role MEMBER.
   */
  retry(id: string, body?: types.CampaignsRetryData['body'], options?: RequestOptions): ApiPromise<types.CampaignsRetryResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/retry`, body, isIdempotent: true }, options)
  }

  /**
   * Pause a campaign.
   *
   * Stops a SENDING campaign within seconds: each worker still sends the groups that it has claimed, at most 80 emails. The other recipients remain PENDING. Repeating the request is a no-op. Returns 409 for any other status.
   *
   * Requires the role MEMBER.
   */
  pause(id: string, options?: RequestOptions): ApiPromise<types.CampaignsPauseResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/pause`, isIdempotent: true }, options)
  }

  /**
   * Resume a campaign.
   *
   * Continues a PAUSED campaign with the PENDING recipients. Repeating the request is a no-op. Returns 409 for any other status.
   *
   * Requires the role MEMBER.
   */
  resume(id: string, options?: RequestOptions): ApiPromise<types.CampaignsResumeResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/resume`, isIdempotent: true }, options)
  }

  /**
   * Cancel a campaign.
   *
   * Stops a SENDING or PAUSED campaign permanently. PENDING recipients become SKIPPED; `completedAt` is set once no recipient is PENDING. Repeating the request is a no-op. Returns 409 for any other status.
   *
   * Requires the role MEMBER.
   */
  cancel(id: string, options?: RequestOptions): ApiPromise<types.CampaignsCancelResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/campaigns/${id}/cancel`, isIdempotent: true }, options)
  }

  /**
   * Retrieve the statistics of a campaign.
   *
   * Counts the recipients by status. At any time, queued = sent + failed + skipped + interrupted + pending.
   *
   * Requires the role VIEWER.
   */
  getStats(id: string, options?: RequestOptions): ApiPromise<types.CampaignsGetStatsResponse> {
    return this.client.request({ path: encodePath`/campaigns/${id}/stats` }, options)
  }

  /**
   * List the recipients of a campaign.
   *
   * Returns the recipients with the status of their email, and the reason if it was not sent.
   *
   * Requires the role VIEWER.
   */
  listRecipients(id: string, query?: types.CampaignsListRecipientsData['query'], options?: RequestOptions): PagePromise<types.CampaignsListRecipientsResponse> {
    return this.client.requestPage({ path: encodePath`/campaigns/${id}/recipients`, query }, options)
  }
}

export class TemplateVariables extends Resource {
  /**
   * List the variables and filters of templates.
   *
   * Returns every variable, the custom fields of the workspace among them, and every filter that a campaign template can use. The response is not paged.
   *
   * Requires the role VIEWER.
   */
  list(options?: RequestOptions): PagePromise<types.TemplateVariablesListResponse> {
    return this.client.requestPage({ path: '/template-variables' }, options)
  }
}

export class Templates extends Resource {
  /**
   * Create a template.
   *
   * Creates a template for emails to one person each, with version 1. `subject`, `html` and `text` are Liquid templates over `data.*`, `contact.*` and `workspace.*`: a fault is a 400 with line and column. Is recorded in the audit log, because `ground` is a legal statement.
   *
   * Requires the role ADMIN.
   */
  create(body: types.TemplatesCreateData['body'], options?: RequestOptions): ApiPromise<types.TemplatesCreateResponse> {
    return this.client.request({ method: 'POST', path: '/templates', body, isIdempotent: true }, options)
  }

  /**
   * List templates.
   *
   * Returns the templates of the workspace without `html` and `text`.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.TemplatesListData['query'], options?: RequestOptions): PagePromise<types.TemplatesListResponse> {
    return this.client.requestPage({ path: '/templates', query }, options)
  }

  /**
   * Retrieve a template.
   *
   * Returns the present version of the template.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.TemplatesGetResponse> {
    return this.client.request({ path: encodePath`/templates/${id}` }, options)
  }

  /**
   * Update a template.
   *
   * Another content is a new version. Emails that wait are sent with the version that accepted them. `status` pauses the template, or activates it again, which returns 409 if the domain of its sender is not verified. Returns 409 if another request has changed the template meanwhile.
   *
   * Requires the role ADMIN.
   */
  update(id: string, body: types.TemplatesUpdateData['body'], options?: RequestOptions): ApiPromise<types.TemplatesUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/templates/${id}`, body }, options)
  }

  /**
   * Delete a template.
   *
   * Returns 409 while an email from the template is PENDING. Emails that were sent remain listed.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/templates/${id}` }, options)
  }

  /**
   * Preview a template.
   *
   * Renders the template for a contact and values, or for an example contact and the examples of its variables, with the footer. Sends nothing.
   *
   * Requires the role MEMBER.
   */
  preview(id: string, body?: types.TemplatesPreviewData['body'], options?: RequestOptions): ApiPromise<types.TemplatesPreviewResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/templates/${id}/preview`, body, isIdempotent: true }, options)
  }
}

export class Emails extends Resource {
  /**
   * Send an email to one person.
   *
   * Accepts an email from a template, which is sent in the background, before campaigns. `to` names one person: `email` finds the contact or creates it, and fills what is empty. A missing, unknown or ill-typed value is a 400 at `data.<name>`.
   *
   * It is sent at most once: a temporary refusal, or one of the login or the sender, is tried again at most five times in 24 hours; after a crash or an ambiguous response it is `INTERRUPTED`, and only another request sends another one. With an `Idempotency-Key`, a repeated request sends no second email.
   *
   * Returns 409 `opted_out` if the address bounced, complained, or was blocked (`MANUAL`). An opt-out from newsletters does not stop it. Returns 409 `wrong_state` while the template is PAUSED. Emits `email.sent`, `email.failed`, `email.interrupted` or `email.skipped`.
   *
   * Requires the role MEMBER.
   */
  create(body: types.EmailsCreateData['body'], options?: RequestOptions): ApiPromise<types.EmailsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/emails', body, isIdempotent: true }, options)
  }

  /**
   * List emails.
   *
   * Returns the emails from templates of the last 90 days (`RETENTION_EMAILS_DAYS`), newest first.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.EmailsListData['query'], options?: RequestOptions): PagePromise<types.EmailsListResponse> {
    return this.client.requestPage({ path: '/emails', query }, options)
  }

  /**
   * Send up to 100 emails to one person each.
   *
   * Each email is accepted or fails by itself, and the results are in the order of the emails. Those that are accepted are accepted in one transaction. A body has at most 4 MiB and 10,000 values.
   *
   * Requires the role MEMBER.
   */
  batch(body: types.EmailsBatchData['body'], options?: RequestOptions): ApiPromise<types.EmailsBatchResponse> {
    return this.client.request({ method: 'POST', path: '/emails/batch', body, isIdempotent: true }, options)
  }

  /**
   * Retrieve an email.
   *
   * Returns the status of the email, and what was reported of it.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.EmailsGetResponse> {
    return this.client.request({ path: encodePath`/emails/${id}` }, options)
  }
}

export class MailEvents extends Resource {
  /**
   * Report a bounce or a complaint.
   *
   * Records a report from your mail provider. After a complaint or a permanent bounce, the address receives no more emails from any list. Repeating a report is a no-op; without `messageId`, on the same day, or for a bounce that is not permanent.
   *
   * Requires the role MEMBER.
   */
  create(body: types.MailEventsCreateData['body'], options?: RequestOptions): ApiPromise<types.MailEventsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/mail-events', body, isIdempotent: true }, options)
  }
}

export class Domains extends Resource {
  /**
   * Add a sending domain.
   *
   * Returns the DNS records to publish. Once the first DKIM record is found, the domain is VERIFIED: the workspace may send from it, and its emails are signed. Other workspaces may have the same domain: each has records of its own. A workspace has at most 20 domains.
   *
   * Requires the role ADMIN.
   */
  create(body: types.DomainsCreateData['body'], options?: RequestOptions): ApiPromise<types.DomainsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/domains', body, isIdempotent: true }, options)
  }

  /**
   * List sending domains.
   *
   * Returns the sending domains of the workspace, with their records as of the last check.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.DomainsListData['query'], options?: RequestOptions): PagePromise<types.DomainsListResponse> {
    return this.client.requestPage({ path: '/domains', query }, options)
  }

  /**
   * Retrieve a sending domain.
   *
   * Returns the domain, with its records as of the last check.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.DomainsGetResponse> {
    return this.client.request({ path: encodePath`/domains/${id}` }, options)
  }

  /**
   * Update a sending domain.
   *
   * Changes the host of the public pages. Once the domain and the HOST record are VERIFIED, the links in new emails are under the host; those of former emails go on where they are. Returns 409 if another workspace has the host, or if this one has 20 hosts, with those of former links.
   *
   * Requires the role ADMIN.
   */
  update(id: string, body: types.DomainsUpdateData['body'], options?: RequestOptions): ApiPromise<types.DomainsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/domains/${id}`, body }, options)
  }

  /**
   * Delete a sending domain.
   *
   * Deletes the domain and its keys. Remove the DKIM records seven days later: receivers still verify emails that are on their way.
   *
   * Requires the role ADMIN.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/domains/${id}` }, options)
  }

  /**
   * Check the records of a sending domain.
   *
   * Reads the records from DNS now, and returns the domain with the results. Emits `domain.verified` or `domain.failed` if the status changes. If no name server answers, the results before still hold.
   *
   * Requires the role ADMIN.
   */
  verify(id: string, options?: RequestOptions): ApiPromise<types.DomainsVerifyResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/domains/${id}/verify`, isIdempotent: true }, options)
  }

  /**
   * Rotate the key of a sending domain.
   *
   * Signs with the next key from now on, and returns the domain with the record of a new next key to publish. Keep the record of the former key for seven days, while it is listed. Returns 409 if the last check did not find the record of the next key, or within seven days of a rotation.
   *
   * Requires the role ADMIN.
   */
  rotateKey(id: string, options?: RequestOptions): ApiPromise<types.DomainsRotateKeyResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/domains/${id}/rotate-key`, isIdempotent: true }, options)
  }
}

export class Pipelines extends Resource {
  /**
   * Create a pipeline.
   *
   * Creates a pipeline with its stages, in the order in which deals pass through them.
   *
   * Requires the role MEMBER.
   */
  create(body: types.PipelinesCreateData['body'], options?: RequestOptions): ApiPromise<types.PipelinesCreateResponse> {
    return this.client.request({ method: 'POST', path: '/pipelines', body, isIdempotent: true }, options)
  }

  /**
   * List pipelines.
   *
   * Returns each pipeline with its stages in order.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.PipelinesListData['query'], options?: RequestOptions): PagePromise<types.PipelinesListResponse> {
    return this.client.requestPage({ path: '/pipelines', query }, options)
  }

  /**
   * Retrieve a pipeline.
   *
   * Returns the pipeline with its stages in their order.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.PipelinesGetResponse> {
    return this.client.request({ path: encodePath`/pipelines/${id}` }, options)
  }

  /**
   * Update a pipeline.
   *
   * `stages` replaces all stages and sets their order. A stage with an `id` is kept and updated with the fields that are present, a stage without an `id` is created, and all other stages are removed. Removing a stage that has deals returns 409 with `dealCount`.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.PipelinesUpdateData['body'], options?: RequestOptions): ApiPromise<types.PipelinesUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/pipelines/${id}`, body }, options)
  }

  /**
   * Delete a pipeline.
   *
   * Returns 409 with `dealCount` if the pipeline has deals.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/pipelines/${id}` }, options)
  }

  /**
   * Retrieve the summary of a pipeline.
   *
   * Returns the number and value of the OPEN deals, per stage and in total, and those of the WON and LOST deals. `closedAfter` and `closedBefore` select WON and LOST deals, `expectedCloseAfter` and `expectedCloseBefore` OPEN deals, `ownerId` and `companyId` both.
   *
   * Requires the role VIEWER.
   */
  getSummary(id: string, query?: types.PipelinesGetSummaryData['query'], options?: RequestOptions): ApiPromise<types.PipelinesGetSummaryResponse> {
    return this.client.request({ path: encodePath`/pipelines/${id}/summary`, query }, options)
  }
}

export class Deals extends Resource {
  /**
   * Create a deal.
   *
   * A new deal is OPEN. It starts in the first stage of the pipeline, or in the stage that `stageId` names. Emits `deal.created`.
   *
   * Requires the role MEMBER.
   */
  create(body: types.DealsCreateData['body'], options?: RequestOptions): ApiPromise<types.DealsCreateResponse> {
    return this.client.request({ method: 'POST', path: '/deals', body, isIdempotent: true }, options)
  }

  /**
   * List deals.
   *
   * Returns the deals that match all filters. `customField.<key>=<value>` filters by a custom field of deals. With `sort=closedAt`, deals that are not closed come first; with `sort=-closedAt`, they come last.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.DealsListData['query'] & { [filter: `customField.${string}`]: string }, options?: RequestOptions): PagePromise<types.DealsListResponse> {
    return this.client.requestPage({ path: '/deals', query }, options)
  }

  /**
   * Retrieve a deal.
   *
   * Returns the deal.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.DealsGetResponse> {
    return this.client.request({ path: encodePath`/deals/${id}` }, options)
  }

  /**
   * Update a deal.
   *
   * A new `pipelineId` moves the deal to the first stage of that pipeline, or to the stage that `stageId` names. WON and LOST set `closedAt`; OPEN clears it. A change of the stage emits `deal.stage_changed` with `previousPipelineId` and `previousStageId`. A change to WON or LOST emits `deal.won` or `deal.lost`. `lostReason` belongs to LOST: any other status clears it. `contactId` gives the deal to another contact, also if its contact was erased, and clears `contactErasedAt` then. Any other change, including reopening, emits `deal.updated`. A no-op update emits no event.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.DealsUpdateData['body'], options?: RequestOptions): ApiPromise<types.DealsUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/deals/${id}`, body }, options)
  }

  /**
   * Delete a deal.
   *
   * Deletes the deal and its activity. Emits `deal.deleted`.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/deals/${id}` }, options)
  }

  /**
   * List the activity of a deal.
   *
   * Returns each change of stage or status with the user or API key that made it, newest first. Entries are kept until the deal is deleted.
   *
   * Requires the role VIEWER.
   */
  listActivity(id: string, query?: types.DealsListActivityData['query'], options?: RequestOptions): PagePromise<types.DealsListActivityResponse> {
    return this.client.requestPage({ path: encodePath`/deals/${id}/activity`, query }, options)
  }
}

export class Tasks extends Resource {
  /**
   * Create a task.
   *
   * Creates a task for the contact. Emits `task.created`.
   *
   * Requires the role MEMBER.
   */
  create(contactId: string, body: types.TasksCreateData['body'], options?: RequestOptions): ApiPromise<types.TasksCreateResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/contacts/${contactId}/tasks`, body, isIdempotent: true }, options)
  }

  /**
   * List the tasks of a contact.
   *
   * Returns the tasks that match all filters, earliest `dueAt` first.
   *
   * Requires the role VIEWER.
   */
  listOfContact(contactId: string, query?: types.TasksListOfContactData['query'], options?: RequestOptions): PagePromise<types.TasksListOfContactResponse> {
    return this.client.requestPage({ path: encodePath`/contacts/${contactId}/tasks`, query }, options)
  }

  /**
   * List tasks.
   *
   * Returns the tasks of all contacts that match all filters, earliest `dueAt` first.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.TasksListData['query'], options?: RequestOptions): PagePromise<types.TasksListResponse> {
    return this.client.requestPage({ path: '/tasks', query }, options)
  }

  /**
   * Retrieve a task.
   *
   * Returns the task.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.TasksGetResponse> {
    return this.client.request({ path: encodePath`/tasks/${id}` }, options)
  }

  /**
   * Update a task.
   *
   * DONE sets `completedAt`; OPEN clears it. A change to DONE emits `task.completed`. Any other change, including reopening, emits `task.updated`. A no-op update emits no event.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.TasksUpdateData['body'], options?: RequestOptions): ApiPromise<types.TasksUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/tasks/${id}`, body }, options)
  }

  /**
   * Delete a task.
   *
   * Emits `task.deleted`.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/tasks/${id}` }, options)
  }
}

export class Notes extends Resource {
  /**
   * Create a note.
   *
   * Writes down a note, a call or a meeting. A note about a deal is about the contact of the deal too, unless another contact is given. Emits `note.created`. A contact, company or deal with 10,000 notes gets no more: 409 `quota_exceeded`.
   *
   * Requires the role MEMBER.
   */
  create(body: types.NotesCreateData['body'], options?: RequestOptions): ApiPromise<types.NotesCreateResponse> {
    return this.client.request({ method: 'POST', path: '/notes', body, isIdempotent: true }, options)
  }

  /**
   * List notes.
   *
   * Returns the notes that match all filters, newest first.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.NotesListData['query'], options?: RequestOptions): PagePromise<types.NotesListResponse> {
    return this.client.requestPage({ path: '/notes', query }, options)
  }

  /**
   * Retrieve a note.
   *
   * Returns the note.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.NotesGetResponse> {
    return this.client.request({ path: encodePath`/notes/${id}` }, options)
  }

  /**
   * Update a note.
   *
   * Changes the kind, the text or the time. What the note is about never changes: delete it and create another. Emits `note.updated`. A no-op update emits no event.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.NotesUpdateData['body'], options?: RequestOptions): ApiPromise<types.NotesUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/notes/${id}`, body }, options)
  }

  /**
   * Delete a note.
   *
   * Emits `note.deleted`.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/notes/${id}` }, options)
  }
}

export class Webhooks extends Resource {
  /**
   * Create a webhook.
   *
   * Each event is delivered in one attempt, signed with `secret` as defined by Standard Webhooks. `secret` is returned in this response only. `filter` limits which events of the types are delivered. A workspace has at most 50 webhooks by default (`QUOTA_WEBHOOKS`).
   *
   * Requires the role MEMBER.
   */
  create(body: types.WebhooksCreateData['body'], options?: RequestOptions): ApiPromise<types.WebhooksCreateResponse> {
    return this.client.request({ method: 'POST', path: '/webhooks', body, isIdempotent: true }, options)
  }

  /**
   * List webhooks.
   *
   * Returns the webhooks of the workspace, without their secrets.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.WebhooksListData['query'], options?: RequestOptions): PagePromise<types.WebhooksListResponse> {
    return this.client.requestPage({ path: '/webhooks', query }, options)
  }

  /**
   * Retrieve a webhook.
   *
   * Returns the webhook and how its deliveries have been going, without its secret.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.WebhooksGetResponse> {
    return this.client.request({ path: encodePath`/webhooks/${id}` }, options)
  }

  /**
   * Update a webhook.
   *
   * Updates the URL, the event types, the filter or `enabled`. When a webhook is disabled, its pending deliveries fail; requests that were already taken may still arrive within ten seconds.
   *
   * Requires the role MEMBER.
   */
  update(id: string, body: types.WebhooksUpdateData['body'], options?: RequestOptions): ApiPromise<types.WebhooksUpdateResponse> {
    return this.client.request({ method: 'PATCH', path: encodePath`/webhooks/${id}`, body }, options)
  }

  /**
   * Delete a webhook.
   *
   * Deletes the webhook and its deliveries. Requests that were already taken may still arrive within ten seconds.
   *
   * Requires the role MEMBER.
   */
  delete(id: string, options?: RequestOptions): ApiPromise<void> {
    return this.client.request({ method: 'DELETE', path: encodePath`/webhooks/${id}` }, options)
  }

  /**
   * Rotate the secret of a webhook.
   *
   * Returns the new `secret`, in this response only. For 24 hours, deliveries are signed with both secrets, so that the receiver can switch without downtime. More than 5 rotations in 24 hours return 409.
   *
   * Requires the role MEMBER.
   */
  rotateSecret(id: string, options?: RequestOptions): ApiPromise<types.WebhooksRotateSecretResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/webhooks/${id}/rotate-secret`, isIdempotent: true }, options)
  }

  /**
   * List the deliveries of a webhook.
   *
   * Deliveries are kept for at least 30 days, unless the operator has set another time.
   *
   * Requires the role VIEWER.
   */
  listDeliveries(id: string, query?: types.WebhooksListDeliveriesData['query'], options?: RequestOptions): PagePromise<types.WebhooksListDeliveriesResponse> {
    return this.client.requestPage({ path: encodePath`/webhooks/${id}/deliveries`, query }, options)
  }

  /**
   * Retrieve a delivery.
   *
   * Returns one delivery with the response of the receiver.
   *
   * Requires the role VIEWER.
   */
  getDelivery(id: string, deliveryId: string, options?: RequestOptions): ApiPromise<types.WebhooksGetDeliveryResponse> {
    return this.client.request({ path: encodePath`/webhooks/${id}/deliveries/${deliveryId}` }, options)
  }

  /**
   * Send a test event.
   *
   * Sends a `webhook.test` event, or an example of another type, to this webhook only, also if it does not subscribe to the type. The event is in the feed too. Returns 409 if the webhook is disabled.
   *
   * Requires the role MEMBER.
   */
  test(id: string, body?: types.WebhooksTestData['body'], options?: RequestOptions): ApiPromise<types.WebhooksTestResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/webhooks/${id}/test`, body, isIdempotent: true }, options)
  }

  /**
   * Redeliver an event.
   *
   * Creates a new delivery of the same event with the same `webhook-id`. Returns 409 if the delivery is still PENDING or the webhook is disabled.
   *
   * Requires the role MEMBER.
   */
  redeliverOne(id: string, deliveryId: string, options?: RequestOptions): ApiPromise<types.WebhooksRedeliverOneResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/webhooks/${id}/deliveries/${deliveryId}/redeliver`, isIdempotent: true }, options)
  }

  /**
   * Redeliver many events.
   *
   * Creates one new delivery for each event with a matching delivery, unless a later delivery of the event has SUCCEEDED or is PENDING. Without a body, the FAILED and INTERRUPTED deliveries of the last 24 hours match. Returns 400 if more than 100,000 events match. With `dryRun`, events are only counted.
   *
   * Requires the role MEMBER.
   */
  redeliver(id: string, body?: types.WebhooksRedeliverData['body'], options?: RequestOptions): ApiPromise<types.WebhooksRedeliverResponse> {
    return this.client.request({ method: 'POST', path: encodePath`/webhooks/${id}/redeliver`, body, isIdempotent: true }, options)
  }
}

export class Events extends Resource {
  /**
   * List events.
   *
   * Events are kept for at least 30 days, unless the operator has set another time. With `after`, events are returned in order: a consumer that was down resumes after the last event that it received. It misses none: no event is ever inserted before one that was already returned.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.EventsListData['query'], options?: RequestOptions): PagePromise<types.EventsListResponse> {
    return this.client.requestPage({ path: '/events', query }, options)
  }

  /**
   * Retrieve an event.
   *
   * Returns one event. Events are kept for at least 30 days, unless the operator has set another time.
   *
   * Requires the role VIEWER.
   */
  get(id: string, options?: RequestOptions): ApiPromise<types.EventsGetResponse> {
    return this.client.request({ path: encodePath`/events/${id}` }, options)
  }
}

export class EventTypes extends Resource {
  /**
   * List event types.
   *
   * Returns each event type with a JSON Schema of its `data` and an example.
   *
   * Requires the role VIEWER.
   */
  list(query?: types.EventTypesListData['query'], options?: RequestOptions): PagePromise<types.EventTypesListResponse> {
    return this.client.requestPage({ path: '/event-types', query }, options)
  }
}

/** One field per resource. */
export class Resources {
  readonly health: Health
  readonly ready: Ready
  readonly tls: Tls
  readonly auth: Auth
  readonly public: Public
  readonly mailHooks: MailHooks
  readonly sessions: Sessions
  readonly workspaces: Workspaces
  readonly apiKeys: ApiKeys
  readonly workspace: Workspace
  readonly invites: Invites
  readonly members: Members
  readonly auditLog: AuditLog
  readonly contacts: Contacts
  readonly companies: Companies
  readonly customFields: CustomFields
  readonly imports: Imports
  readonly suppressions: Suppressions
  readonly forms: Forms
  readonly lists: Lists
  readonly segments: Segments
  readonly campaigns: Campaigns
  readonly templateVariables: TemplateVariables
  readonly templates: Templates
  readonly emails: Emails
  readonly mailEvents: MailEvents
  readonly domains: Domains
  readonly pipelines: Pipelines
  readonly deals: Deals
  readonly tasks: Tasks
  readonly notes: Notes
  readonly webhooks: Webhooks
  readonly events: Events
  readonly eventTypes: EventTypes
  constructor(client: Client) {
    this.health = new Health(client)
    this.ready = new Ready(client)
    this.tls = new Tls(client)
    this.auth = new Auth(client)
    this.public = new Public(client)
    this.mailHooks = new MailHooks(client)
    this.sessions = new Sessions(client)
    this.workspaces = new Workspaces(client)
    this.apiKeys = new ApiKeys(client)
    this.workspace = new Workspace(client)
    this.invites = new Invites(client)
    this.members = new Members(client)
    this.auditLog = new AuditLog(client)
    this.contacts = new Contacts(client)
    this.companies = new Companies(client)
    this.customFields = new CustomFields(client)
    this.imports = new Imports(client)
    this.suppressions = new Suppressions(client)
    this.forms = new Forms(client)
    this.lists = new Lists(client)
    this.segments = new Segments(client)
    this.campaigns = new Campaigns(client)
    this.templateVariables = new TemplateVariables(client)
    this.templates = new Templates(client)
    this.emails = new Emails(client)
    this.mailEvents = new MailEvents(client)
    this.domains = new Domains(client)
    this.pipelines = new Pipelines(client)
    this.deals = new Deals(client)
    this.tasks = new Tasks(client)
    this.notes = new Notes(client)
    this.webhooks = new Webhooks(client)
    this.events = new Events(client)
    this.eventTypes = new EventTypes(client)
  }
}
