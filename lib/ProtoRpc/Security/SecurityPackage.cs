namespace ProtoRpc.Security;

/// <summary>The authentication types of DCE/RPC ([MS-RPCE] section 2.2.1.1.7).</summary>
internal static class SecurityPackage
{
    public const byte Negotiate = 9;
    public const byte Ntlm = 10;
    public const byte Kerberos = 16;

    /// <summary>The name for errors.</summary>
    public static string NameOf(byte package) =>
        SecurityMechanisms.OfPackage(package)?.Name ?? $"authentication type {package}";
}
