import type { MailTexts } from './en.ts'

export const es: MailTexts = {
  confirmation: {
    title: (list) => `Confirme su suscripción a «${list}»`,
    text: (sender, list, address) => `Confirme que ${sender} puede enviar «${list}» a ${address}.`,
    tracking: (sender, what) =>
      `En la página también puede permitir que ${sender} registre ${what}. Su suscripción no depende de ello.`,
    button: 'Confirmar suscripción',
    small:
      'Este enlace caduca dentro de siete días. Si no ha solicitado esta suscripción, puede ignorar este correo: sin su confirmación, no se activará.',
  },
  tracking: {
    opens: 'cuándo abre usted los correos de este remitente',
    clicks: 'cuándo hace usted clic en los enlaces de los correos de este remitente',
    opensAndClicks: 'cuándo abre usted los correos de este remitente y hace clic en sus enlaces',
    title: (sender) => `Confirme qué puede registrar ${sender}`,
    text: (sender, what) => `Confirme que ${sender} puede registrar ${what}.`,
    button: 'Confirmar',
    small:
      'Este enlace caduca dentro de siete días. Si no lo ha solicitado, puede ignorar este correo: no cambiará nada.',
  },
  personalData: {
    title: (sender) => `Sus datos en ${sender}`,
    attached: (sender) =>
      `El archivo adjunto contiene todo lo que ${sender} conserva sobre usted en su base de contactos. Es un archivo JSON que puede abrir con cualquier editor de texto.`,
    tooLarge: (sender) =>
      `Los datos que ${sender} conserva sobre usted en su base de contactos son demasiado extensos para un correo. Póngase en contacto con ${sender} para recibirlos de otra forma.`,
    small: 'Recibe este correo porque se solicitó en su página de preferencias. Solo se ha enviado a su dirección.',
  },
  invite: {
    title: (workspace) => `Únase a ${workspace}`,
    text: (workspace) => `Ha recibido una invitación para unirse al espacio de trabajo «${workspace}».`,
    button: 'Aceptar la invitación',
    small:
      'Este enlace caduca dentro de siete días y solo funciona una vez. Si no esperaba esta invitación, puede ignorar este correo.',
  },
  passwordReset: {
    title: 'Elija una contraseña nueva',
    text: (address) => `Hemos recibido una solicitud para restablecer la contraseña de ${address}.`,
    warning:
      'Esta dirección nunca se confirmó, por lo que es posible que otra persona haya creado la cuenta. Por su seguridad, al elegir una contraseña nueva también se revocan las claves de API y las invitaciones que creó la cuenta. En los espacios de trabajo que le pertenecen, se desactivan los webhooks y se eliminan los hooks de correo. Después, revise los miembros de esos espacios.',
    button: 'Elegir una contraseña nueva',
    small:
      'Este enlace caduca dentro de una hora y solo funciona una vez. Si no lo ha solicitado, puede ignorar este correo: su contraseña no cambiará.',
  },
  verification: {
    title: 'Confirme su dirección de correo',
    text: (host, address) => `Se ha creado una cuenta en ${host} para ${address}.`,
    request: 'Confirme que esta dirección de correo es suya.',
    button: 'Confirmar dirección de correo',
    small:
      'Este enlace caduca dentro de siete días y para usarlo necesita su contraseña. Si no ha creado esta cuenta, puede ignorar este correo, o bien restablecer la contraseña para tomar el control de la cuenta.',
  },
  footer: {
    reason: (list) => `Recibe este correo porque su dirección está suscrita a «${list}».`,
    unsubscribe: 'Darse de baja',
    preferences: 'Preferencias de correo',
  },
  emailFooter: {
    REQUEST: (sender) => `Recibe este correo de ${sender} porque lo ha solicitado.`,
    CONTRACT: (sender) => `Recibe este correo de ${sender} por su cuenta o su pedido.`,
    SECURITY: (sender) => `Recibe este correo de ${sender} porque afecta a la seguridad de su cuenta.`,
    LEGAL: (sender) => `Recibe este correo de ${sender} porque la ley lo exige.`,
  },
}
