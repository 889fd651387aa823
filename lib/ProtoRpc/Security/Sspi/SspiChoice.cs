namespace ProtoRpc.Security.Sspi;

/// <summary>When Windows authenticates, and by which package; the rest is done here, on every system
/// alike.</summary>
internal static class SspiChoice
{
    /// <summary>The package by which a client on TCP proves who it is.</summary>
    /// <param name="security">What was asked for.</param>
    /// <param name="isWindows">Whether there is SSPI.</param>
    /// <returns>Null when SSPI has no part in it. NTLM with a password needs no system.</returns>
    public static byte? OfClient(RpcClientSecurity security, bool isWindows)
    {
        if (!isWindows)
        {
            return null;
        }

        SecurityMechanism mechanism = SecurityMechanisms.Of(security.Mechanism, usual: RpcMechanism.Ntlm);
        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        return isSelf || mechanism.NeedsSystemForPasswords ? mechanism.Package : null;
    }

    /// <summary>The packages by which a listener verifies callers.</summary>
    /// <param name="security">Whom to let in.</param>
    /// <param name="isWindows">Whether there is SSPI.</param>
    /// <returns>Empty when SSPI has no part in it. A listener that was given accounts verifies NTLM by
    /// these.</returns>
    public static IReadOnlyList<byte> OfServer(RpcServerSecurity security, bool isWindows)
    {
        if (!isWindows)
        {
            return [];
        }

        bool hasAccounts = security.NtlmAccounts.Count > 0;
        return
        [
            .. SecurityMechanisms.All
                .Where(mechanism => security.Authentication.HasFlag(mechanism.Accepted)
                    && !(hasAccounts && mechanism.TakesAccounts))
                .Select(mechanism => mechanism.Package),
        ];
    }
}
