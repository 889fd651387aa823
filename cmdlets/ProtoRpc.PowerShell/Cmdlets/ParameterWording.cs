namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Rewords error texts of the core for the shell: replaces the names of members by those of
/// parameters.</summary>
internal static class ParameterWording
{
    private const string Limits = $"{nameof(RpcLimits)}.";

    private static readonly Dictionary<string, string> Parameters = new(StringComparer.Ordinal)
    {
        [$"{nameof(RpcClientOptions)}.{nameof(RpcClientOptions.UseTls)}"] = "-Tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.UseTls)}"] = "-Tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Certificate)}"] = "-Certificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.CaCertificates)}"] = "-CACertificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ClientCertificate)}"] = "-ClientCertificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ServerName)}"] = "-ServerName",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.SkipCertificateCheck)}"] = "-SkipCertificateCheck",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Interceptors)}"] = "-Authorization",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.Authentication)}"] = "-Authentication",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}"] = "-NtlmAccount",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.ServicePrincipalName)}"] =
            "-ServicePrincipalName",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)}"] = "-ServerUser",
        [$"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.UserName)}"] = "-UserName",
        ["Give a schema"] = "Use -Schema to give a schema",
        ["as an import path"] = "with Import-RpcSchema -ImportPath",
        ["allow unencrypted traffic"] = "use -AllowUnencrypted",
        ["Choose fewer services"] = "Choose fewer services with -Service",
    };

    /// <returns>The text with the names of parameters. A member of the limits becomes 'NAME of
    /// -Limits'.</returns>
    public static string Of(string text) => MemberTexts.Rename(
        text, name => name.StartsWith(Limits, StringComparison.Ordinal)
            ? $"{name[Limits.Length..]} of -Limits"
            : Parameters.GetValueOrDefault(name));
}
