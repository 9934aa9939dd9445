import type { PageTexts } from './en.ts'

export const es: PageTexts = {
  brokenLink: 'Este enlace no funciona',
  brokenTrackedLink: 'El enlace puede estar incompleto. Vuelva a hacer clic en el enlace del correo.',
  suspended: {
    title: 'No es posible en este momento',
    text: 'Este servicio no está disponible por ahora. Inténtelo de nuevo más tarde.',
  },
  tooManyRequests: {
    title: 'Inténtelo de nuevo dentro de un minuto',
    text: 'Esta página se ha abierto demasiadas veces desde su red. No se ha cambiado nada.',
  },
  unavailable: {
    title: 'No es posible en este momento',
    text: 'Inténtelo de nuevo en unos instantes. No se ha cambiado nada.',
  },
  continue: 'Continuar',
  subscription: {
    emails: (list, sender) => `«${list}» de ${sender}`,
    anyEmails: 'los correos de esta lista',
    allNewsletters: 'los boletines de este remitente, incluidos los que se creen más adelante',
    confirm: {
      title: 'Confirme su suscripción',
      text: (emails) => `Haga clic en el botón para recibir ${emails}. Puede darse de baja en cualquier momento.`,
      button: 'Confirmar suscripción',
    },
    confirmed: {
      title: 'Su suscripción está confirmada',
      text: (emails) => `A partir de ahora recibirá ${emails}. Ya puede cerrar esta página.`,
    },
    unsubscribe: {
      title: 'Darse de baja',
      text: (emails) => `Haga clic en el botón para dejar de recibir ${emails}.`,
      button: 'Darse de baja',
    },
    unsubscribed: {
      title: 'Se ha dado de baja',
      text: (emails) => `Ya no recibirá ${emails}.`,
      undo: 'Si ha sido un error, puede deshacerlo en los próximos diez minutos.',
      button: 'Volver a suscribirse',
    },
    restored: {
      title: 'Su suscripción vuelve a estar activa',
      text: (emails) => `Recibirá ${emails} como antes. Ya puede cerrar esta página.`,
    },
    test: {
      title: 'Este es un correo de prueba',
      text: 'Aquí el enlace no tiene ningún efecto. En la campaña, sirve para darse de baja.',
    },
    brokenConfirmation:
      'El enlace puede estar incompleto o tener más de siete días. Utilice el enlace del correo más reciente o suscríbase de nuevo.',
    brokenUnsubscribe:
      'El enlace está incompleto. Vuelva a hacer clic en el enlace del correo o responda al correo para solicitar la baja.',
    brokenUndo:
      'Solo es posible deshacer la baja durante los diez minutos siguientes. Suscríbase de nuevo donde lo hizo la primera vez.',
  },
  tracking: {
    opens: 'cuándo abre usted los correos de este remitente',
    clicks: 'cuándo hace usted clic en los enlaces de los correos de este remitente',
    opensAndClicks: 'cuándo abre usted los correos de este remitente y hace clic en sus enlaces',
    also: (sender) =>
      `También puede permitir que ${sender} registre lo siguiente. Su suscripción no depende de ello, y puede cambiarlo en cualquier momento.`,
    granted: (sender, what) => `A partir de ahora, ${sender} puede registrar ${what}.`,
    confirm: {
      title: 'Confirme qué se puede registrar',
      text: (sender, what) =>
        `Haga clic en el botón para permitir que ${sender} registre ${what}. Puede cambiarlo en cualquier momento.`,
      button: 'Confirmar',
    },
    confirmed: {
      title: 'Gracias',
      text: (sender, what) => `A partir de ahora, ${sender} puede registrar ${what}. Ya puede cerrar esta página.`,
    },
    broken:
      'El enlace puede estar incompleto o tener más de siete días, o bien usted ha elegido otra cosa desde entonces. No se ha cambiado nada.',
  },
  preferences: {
    title: 'Sus preferencias de correo',
    text: (sender, email) => `Elija los correos que ${sender} envía a ${email}.`,
    received: 'Usted recibe',
    left: 'Ya no recibe',
    pending: 'Pendiente de confirmación',
    noLists: (sender) => `${sender} no le envía ningún boletín.`,
    asked: (email) => `Para volver a suscribirse, use el enlace del correo que hemos enviado a ${email}.`,
    notAsked:
      'No se ha enviado ningún correo. Es posible que haya recibido uno hace poco: use el enlace que contiene o inténtelo de nuevo más tarde.',
    stop: {
      title: 'No recibir más boletines',
      text: (sender) =>
        `${sender} no le enviará más boletines, ni siquiera los que se creen más adelante. Los correos sobre una cuenta o un pedido seguirán llegando.`,
      button: 'Darse de baja de todos los boletines',
    },
    stopped: (sender) =>
      `${sender} ya no le envía boletines, ni le enviará los que se creen más adelante. Los correos sobre una cuenta o un pedido seguirán llegando.`,
    tracking: {
      title: 'Qué se puede registrar',
      opens: 'Cuándo abro los correos',
      clicks: 'Cuándo hago clic en los enlaces',
      levels: {
        PERSON: 'Se registra actualmente',
        ANONYMOUS: 'Se cuenta actualmente, sin su nombre',
        OFF: 'No se registra actualmente',
      },
      button: 'Guardar',
      saved:
        'Guardado. Lo que no permite ya no se registra sobre usted, ni siquiera en los correos que ya ha recibido.',
      asked: (email) => `Para permitirlo, use el enlace del correo que hemos enviado a ${email}.`,
    },
    data: {
      title: 'Sus datos',
      text: (sender, email) =>
        `Todo lo que ${sender} conserva sobre usted en su base de contactos, en un correo a ${email}.`,
      button: 'Recibir mis datos',
      sent: (email) => `Estamos enviando sus datos a ${email}.`,
      notSent: 'No se han enviado sus datos. Es posible que los haya recibido hace poco. Inténtelo de nuevo más tarde.',
    },
    former:
      'Este enlace corresponde a una dirección de correo anterior, por lo que no puede mostrar lo que recibe. Aun así, aquí puede darse de baja de todos los boletines.',
    erased: (sender) => `${sender} no conserva ningún dato sobre usted en su base de contactos.`,
    erasedAndStopped: (sender) => `En su base de contactos, ${sender} solo conserva su deseo de no recibir boletines.`,
    closed: {
      title: 'Este remitente ya no existe',
      text: 'Ya no le envía boletines y sus datos se eliminan.',
    },
    test: 'Aquí el enlace no tiene ningún efecto. En la campaña, lleva a las preferencias de cada persona.',
    link: 'Todas sus preferencias de correo',
  },
  form: {
    problems: 'Corrija lo siguiente:',
    titleWithProblems: (form) => `Revise el formulario: ${form}`,
    changed: 'Este formulario ha cambiado. Revise sus respuestas y envíelo de nuevo.',
    optional: '(opcional)',
    choose: 'Seleccione una opción',
    honeypot: 'Deje este campo vacío',
    send: 'Enviar',
    unavailable: {
      title: 'Este formulario no está disponible',
      text: 'Es posible que se haya cerrado o que el enlace esté incompleto.',
    },
    failed: 'No se ha podido enviar el formulario. Inténtelo de nuevo.',
    confirm: 'Si desea recibir correos, confírmelo con el enlace del correo que le enviamos.',
    tooManyAttempts: 'Demasiados intentos. Inténtelo de nuevo dentro de un minuto.',
  },
  account: {
    name: 'Su nombre',
    email: 'Correo electrónico',
    password: 'Contraseña',
    forgotPassword: {
      title: '¿Ha olvidado su contraseña?',
      text: 'Escriba la dirección de correo de su cuenta. Le enviaremos un enlace para elegir una contraseña nueva.',
      button: 'Enviar enlace',
      done: {
        title: 'Revise su correo',
        text: 'Si existe una cuenta con esta dirección, le hemos enviado un enlace. Caduca dentro de una hora.',
      },
    },
    resetPassword: {
      title: 'Elija una contraseña nueva',
      heading: (email) => `Elija una contraseña nueva para ${email}`,
      text: 'Utilice al menos 12 caracteres. Se cerrará la sesión en todos sus dispositivos.',
      button: 'Guardar contraseña',
      done: {
        title: 'Su contraseña se ha guardado',
        text: 'Se ha cerrado la sesión en todos los dispositivos. Ya puede cerrar esta página.',
      },
      broken:
        'Puede estar incompleto, haberse utilizado ya o tener más de una hora. Solicite un enlace nuevo para elegir una contraseña.',
      requestLink: 'Solicitar un enlace nuevo',
    },
    acceptInvite: {
      title: (workspace) => `Unirse a ${workspace}`,
      heading: (workspace, email) => `Unirse a ${workspace} como ${email}`,
      newAccount: 'Elija una contraseña de al menos 12 caracteres.',
      knownAccount: 'Ya tiene una cuenta con esta dirección. Escriba su contraseña.',
      button: 'Unirse',
      done: {
        title: 'Le damos la bienvenida',
        text: 'Se ha unido al espacio de trabajo. Ya puede cerrar esta página.',
      },
      broken:
        'Puede estar incompleto, haberse utilizado o anulado ya, o tener más de siete días. Pida a la persona que le envió la invitación que se la envíe de nuevo.',
      wrongPassword: 'Ya existe una cuenta con esta dirección: utilice su contraseña.',
    },
    verifyEmail: {
      title: 'Confirme su dirección de correo',
      heading: (email) => `Confirme ${email}`,
      text: 'Escriba su contraseña para confirmar que esta dirección de correo es suya.',
      button: 'Confirmar',
      done: { title: 'Su dirección de correo está confirmada', text: 'Gracias. Ya puede cerrar esta página.' },
      broken:
        'Puede estar incompleto o tener más de siete días. Solicite un nuevo correo de confirmación. O elija una contraseña nueva: así también se confirma su dirección.',
      wrongPassword: 'La contraseña no es correcta.',
    },
    problems: {
      passwordMissing: 'Escriba una contraseña.',
      passwordLength: 'La contraseña debe tener entre 12 y 128 caracteres.',
      passwordUnsuitable: 'La contraseña es demasiado común o contiene caracteres no permitidos. Elija otra.',
      name: 'Su nombre puede tener como máximo 200 caracteres, sin saltos de línea.',
      tooManyAttempts: 'Demasiados intentos fallidos. Espere unos minutos e inténtelo de nuevo.',
      failed: 'No ha funcionado. Inténtelo de nuevo más tarde.',
    },
  },
}
