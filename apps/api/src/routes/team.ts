import { requireRole } from '@rapport/core/auth/authenticate.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { createInvite, deleteInvite, listInvites, resendInvite } from '@rapport/core/team/invites.ts'
import { updateMember, listMembers, removeMember } from '@rapport/core/team/members.ts'
import {
  Invite,
  InviteInput,
  InviteQuery,
  Member,
  MemberChange,
  MemberQuery,
  MemberRemoval,
} from '@rapport/core/team/team.schema.ts'
import { deleteWorkspace } from '@rapport/core/operations/delete-workspace.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Empty, IdParams, NoBody, NoQuery } from './shapes.ts'
import { Workspace, WorkspaceChange } from '@rapport/core/workspaces/workspaces.schema.ts'

const common = { tags: ['Team'], security: [{ bearer: [] }] }
const config = { role: 'ADMIN' } as const

export const teamRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/workspace',
    { schema: { ...common, summary: 'Read the workspace', querystring: NoQuery, response: { 200: Workspace } } },
    (request) => readWorkspace(request.ctx),
  )

  app.patch(
    '/workspace',
    {
      config,
      schema: {
        ...common,
        summary: 'Change the workspace',
        description: 'Its name and currency, and who its newsletters are from.',
        querystring: NoQuery,
        body: WorkspaceChange,
        response: { 200: Workspace },
      },
    },
    (request) => updateWorkspace(request.ctx, request.body),
  )

  app.delete(
    '/workspace',
    {
      config: { role: 'OWNER' },
      schema: {
        ...common,
        summary: 'Delete the workspace and everything in it',
        description:
          'There is no way back. Every key and session ends at once, and who is in no other workspace goes too.',
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteWorkspace(request.ctx)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/invites',
    {
      config,
      schema: {
        ...common,
        summary: 'Invite somebody',
        description:
          'By mail, with at most your own role, for seven days. Who is in already is a 409. An address is mailed at most once in ten minutes and three times a day: more is a 429.',
        querystring: NoQuery,
        body: InviteInput,
        response: { 201: Invite },
      },
    },
    async (request, reply) => {
      const invite = await createInvite(request.ctx, request.body)
      reply.code(201).header('location', `/invites/${invite.id}`)
      return invite
    },
  )

  app.get(
    '/invites',
    {
      config,
      schema: { ...common, summary: 'List the invites', querystring: InviteQuery, response: { 200: PageOf(Invite) } },
    },
    (request) => listInvites(request.ctx, request.query),
  )

  app.post(
    '/invites/:id/resend',
    {
      config,
      schema: {
        ...common,
        summary: 'Mail an invite once more',
        description:
          'A new link, good for seven days: the one before is dead at once. At most once in ten minutes and three times a day: more is a 429.',
        params: IdParams('inv'),
        querystring: NoQuery,
        body: NoBody,
        response: { 202: Invite },
      },
    },
    async (request, reply) => {
      reply.code(202)
      return resendInvite(request.ctx, request.params.id)
    },
  )

  app.delete(
    '/invites/:id',
    {
      config,
      schema: {
        ...common,
        summary: 'Take an invite back',
        params: IdParams('inv'),
        querystring: NoQuery,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      await deleteInvite(request.ctx, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/members',
    { schema: { ...common, summary: 'List the members', querystring: MemberQuery, response: { 200: PageOf(Member) } } },
    (request) => listMembers(request.ctx, request.query),
  )

  app.patch(
    '/members/:id',
    {
      config: { ...config, errorStatuses: [409] },
      schema: {
        ...common,
        summary: 'Give a member another role',
        description:
          'At most your own. Invites of theirs that they could not make with it are taken back. The last OWNER stays one: a 409.',
        params: IdParams('usr'),
        querystring: NoQuery,
        body: MemberChange,
        response: { 200: Member },
      },
    },
    (request) => updateMember(request.ctx, request.params.id, request.body),
  )

  app.delete(
    '/members/:id',
    {
      config: { role: 'VIEWER', errorStatuses: [403, 409] },
      schema: {
        ...common,
        summary: 'Take a member out of the workspace',
        description:
          'Their sessions end at once, and the invites they made are taken back. API keys they made stay, as programs may use them, unless `revokeApiKeys=true` revokes them too. Everybody can take out themselves, an ADMIN others too. The last OWNER stays: a 409.',
        params: IdParams('usr'),
        querystring: MemberRemoval,
        response: { 204: Empty },
      },
    },
    async (request, reply) => {
      const { actor } = request.ctx
      if (actor.kind !== 'user' || actor.userId !== request.params.id) requireRole(actor, 'ADMIN')
      await removeMember(request.ctx, request.params.id, request.query)
      return reply.code(204).send(null)
    },
  )
}
