namespace ProtoRpc.Tool;

/// <summary>Error texts of the core for the command line: members that they name become options.</summary>
internal static class FlagNames
{
    private static readonly Dictionary<string, string> Options = new(StringComparer.Ordinal)
    {
        [$"{nameof(RpcClientOptions)}.{nameof(RpcClientOptions.UseTls)}"] = "--tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.UseTls)}"] = "--tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Certificate)}"] = "--cert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.CaCertificates)}"] = "--cacert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ClientCertificate)}"] = "--cert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ServerName)}"] = "--servername",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.SkipCertificateCheck)}"] = "--insecure",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}"] = "--user",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.ServicePrincipalName)}"] = "--spn",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)}"] = "--server-user",
        [$"{nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)}"] = "--max-msg-sz",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Duration)}"] = "--duration",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.WarmUp)}"] = "--warmup",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Count)}"] = "--count",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Concurrency)}"] = "--concurrency",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Rate)}"] = "--rate",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.MaxErrors)}"] = "--max-errors",
        [$"{nameof(RpcRandomMessageOptions)}.{nameof(RpcRandomMessageOptions.MaxBytes)}"] = "--max-size",
        [$"{nameof(RpcRandomMessageOptions)}.{nameof(RpcRandomMessageOptions.StreamLength)}"] =
            "--stream-length",
        ["Give a schema"] = "Use --schema to give a schema",
        ["as an import path"] = "with --import-path",
        ["Choose fewer services"] = "Choose fewer services with --service",
    };

    /// <summary>The text of an error. What a server wrote stays as it is.</summary>
    public static string Of(RpcException error) => error.IsByProtoRpc
        ? MemberTexts.Rename(error.Message, name => Options.GetValueOrDefault(name))
        : error.Message;
}
