namespace ProtoRpc.Security.Spnego;

/// <summary>A mechanism that may be agreed on.</summary>
/// <param name="Oid">Its object identifier.</param>
/// <param name="Create">Begins an authentication.</param>
internal sealed record SpnegoMechanism(string Oid, Func<SecurityContext> Create);

/// <summary>The mechanisms by their object identifiers.</summary>
internal static class SpnegoOid
{
    public const string Spnego = "1.3.6.1.5.5.2";
    public const string Ntlm = "1.3.6.1.4.1.311.2.2.10";
    public const string Kerberos = "1.2.840.113554.1.2.2";

    // Windows 2000 had a digit wrong, and every Windows since offers both.
    private const string KerberosOfWindows = "1.2.840.48018.1.2.2";

    /// <summary>Whether two identifiers mean one mechanism.</summary>
    public static bool Same(string first, string second) => Canonical(first) == Canonical(second);

    private static string Canonical(string oid) => oid == KerberosOfWindows ? Kerberos : oid;
}
