import { requireRole } from '@rapport/core/auth/authenticate.ts'
import { lockWorkspace, readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import {
  lockInvite,
  createInvite,
  deleteInvite,
  listInvites,
  readInvite,
  resendInvite,
} from '@rapport/core/team/invites.ts'
import { updateMember, listMembers, readMember, removeMember } from '@rapport/core/team/members.ts'
import { Invite, InviteInput, InviteQuery, Member, MemberChange, MemberQuery } from '@rapport/core/team/team.schema.ts'
import { deleteWorkspace } from '@rapport/core/operations/workspaces/delete-workspace.ts'
import { readUsage } from '@rapport/core/operations/overviews/workspace-usage.ts'
import { Usage } from '@rapport/core/operations/overviews/workspace-usage.schema.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { Workspace, WorkspaceChange, WorkspaceDeletion } from '@rapport/core/workspaces/workspaces.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { type CurrentRecord, ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams, EmptyBody } from './shapes.ts'

const common = { tags: ['Team'], security: [{ bearer: [] }] }
const inviteParams = IdParams('inv')
const memberParams = IdParams('usr')
const config = { role: 'ADMIN' } as const
const currentWorkspace: CurrentRecord<{ ctx: Ctx }> = {
  schema: Workspace,
  async lockAndRead({ ctx }) {
    await lockWorkspace(ctx)
    return readWorkspace(ctx)
  },
}
const currentInvite = recordById(Invite, { lock: lockInvite, read: readInvite })
/** Every change of a member locks the workspace first. */
const currentMember = recordById(Member, { lock: lockWorkspace, read: readMember })

const inviteLimits =
  'An address receives at most one invite in 10 minutes and three a day, all its forms (upper case, `+tag`) together, ' +
  'also after an invite was deleted. By default, a workspace sends at most 500 invites and test emails a day. More ' +
  'requests return 409 with `retry-after`. Returns 409 with the code `opted_out` if the address is suppressed as ' +
  '`BOUNCED`, `COMPLAINED` or `MANUAL`; an opt-out from newsletters stops no invite. Returns 403 if the operator ' +
  'requires a verified email address and no owner has verified theirs.'
const createDescription =
  'Emails an invite that expires after 7 days. The role is at most your own. Returns 409 if the address belongs to a ' +
  `member. ${inviteLimits}`
const resendDescription =
  'Emails a new link that expires after 7 days; the previous link is invalid immediately. ' + inviteLimits

export const teamRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/workspace',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'workspace.get',
        summary: 'Retrieve the workspace',
        description: 'Returns the workspace of the credential.',
        response: { 200: Workspace },
      },
    },
    (request) => readWorkspace(request.ctx),
  )

  app.get(
    '/workspace/usage',
    {
      config: { isExpensive: true },
      schema: {
        ...common,
        operationId: 'workspace.usage',
        summary: 'Retrieve the usage of the quotas',
        description:
          'Returns the use and the limit of each quota of the workspace. What happens at a limit depends on the quota: most reject a request with 409 and the code `quota_exceeded`.',
        response: { 200: Usage },
      },
    },
    (request) => readUsage(request.ctx),
  )

  app.patch(
    '/workspace',
    {
      config,
      schema: {
        ...common,
        operationId: 'workspace.update',
        summary: 'Update the workspace',
        description:
          'Updates the name, the currency, the language, the sender and the postal address of newsletters, the logo and the accent color of hosted pages, and the rules for changed addresses and for tracking without consent. Omitted fields stay unchanged.',
        body: WorkspaceChange,
        response: { 200: Workspace },
      },
    },
    ifMatch(currentWorkspace, (request) => updateWorkspace(request.ctx, request.body)),
  )

  app.delete(
    '/workspace',
    {
      config: { role: 'OWNER' },
      schema: {
        ...common,
        operationId: 'workspace.delete',
        summary: 'Delete the workspace',
        description:
          'Deletes the workspace and everything in it, permanently. `name` must be its name. All API keys and sessions end immediately. Users without another workspace are deleted too.',
        body: WorkspaceDeletion,
        response: { 204: Empty },
      },
    },
    ifMatch(currentWorkspace, async (request, reply) => {
      await deleteWorkspace(request.ctx, request.body)
      reply.code(204)
      return null
    }),
  )

  app.post(
    '/invites',
    {
      config,
      schema: {
        ...common,
        operationId: 'invites.create',
        summary: 'Create an invite',
        description: createDescription,
        body: InviteInput,
        response: { 201: Invite },
      },
    },
    idempotent(async (request, reply) => {
      const invite = await createInvite(request.ctx, request.body)
      reply.code(201).header('location', `/invites/${invite.id}`)
      return invite
    }),
  )

  app.get(
    '/invites',
    {
      config,
      schema: {
        ...common,
        operationId: 'invites.list',
        summary: 'List invites',
        description: 'Returns the pending invites of the workspace, without their tokens.',
        querystring: InviteQuery,
        response: { 200: PageOf(Invite) },
      },
    },
    (request) => listInvites(request.ctx, request.query),
  )

  app.get(
    '/invites/:id',
    {
      config: { ...config, etag: true },
      schema: {
        ...common,
        operationId: 'invites.get',
        summary: 'Retrieve an invite',
        description: 'Returns a pending invite. Accepted and deleted invites are not found.',
        params: inviteParams,
        response: { 200: Invite },
      },
    },
    (request) => readInvite(request.ctx, request.params.id),
  )

  app.post(
    '/invites/:id/resend',
    {
      config,
      schema: {
        ...common,
        operationId: 'invites.resend',
        summary: 'Resend an invite',
        description: resendDescription,
        params: inviteParams,
        body: EmptyBody,
        response: { 202: Invite },
      },
    },
    idempotent(async (request, reply) => {
      reply.code(202)
      return resendInvite(request.ctx, request.params.id)
    }),
  )

  app.delete(
    '/invites/:id',
    {
      config,
      schema: {
        ...common,
        operationId: 'invites.delete',
        summary: 'Revoke an invite',
        description: 'The link in the email is invalid immediately.',
        params: inviteParams,
        response: { 204: Empty },
      },
    },
    ifMatch(currentInvite, async (request, reply) => {
      await deleteInvite(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )

  app.get(
    '/members',
    {
      schema: {
        ...common,
        operationId: 'members.list',
        summary: 'List members',
        description: 'Returns the members of the workspace and their roles.',
        querystring: MemberQuery,
        response: { 200: PageOf(Member) },
      },
    },
    (request) => listMembers(request.ctx, request.query),
  )

  app.get(
    '/members/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'members.get',
        summary: 'Retrieve a member',
        description: 'Returns the user and the role in the workspace.',
        params: memberParams,
        response: { 200: Member },
      },
    },
    (request) => readMember(request.ctx, request.params.id),
  )

  app.patch(
    '/members/:id',
    {
      config: { ...config, errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'members.update',
        summary: 'Update the role of a member',
        description:
          'The new role is at most your own. API keys that the member created are lowered to the new role, and invites that the new role may not create are revoked. Returns 409 for the last OWNER.',
        params: memberParams,
        body: MemberChange,
        response: { 200: Member },
      },
    },
    ifMatch(currentMember, (request) => updateMember(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/members/:id',
    {
      config: { role: 'VIEWER', errorStatuses: [403, 409] },
      schema: {
        ...common,
        operationId: 'members.delete',
        summary: 'Remove a member',
        description:
          'Ends the sessions of the member immediately, revokes the API keys and invites that they created, and clears the assignee of their tasks, with a `task.updated` event for each. Members can remove themselves; removing another member requires the role ADMIN. Returns 409 for the last OWNER.',
        params: memberParams,
        response: { 204: Empty },
      },
    },
    ifMatch(currentMember, async (request, reply) => {
      const { actor } = request.ctx
      if (actor.kind !== 'user' || actor.userId !== request.params.id) requireRole(actor, 'ADMIN')
      await removeMember(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
