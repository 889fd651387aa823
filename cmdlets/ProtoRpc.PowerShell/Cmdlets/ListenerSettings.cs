namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Defines which cmdlets and listeners support which settings of -ListenerOption. Other settings are
/// errors, because the user relies on them.</summary>
internal static class ListenerSettings
{
    private const string Set = "Set-RpcListener";
    private const string NewMock = "New-RpcMock";
    private const string SetMock = "Set-RpcMock";

    // New script blocks have new workers, so these settings can change at any time.
    private static readonly string[] OfWorkers =
    [
        nameof(RpcListenerOption.WorkerCount), nameof(RpcListenerOption.Module),
        nameof(RpcListenerOption.InitializationScript), nameof(RpcListenerOption.Impersonate),
    ];

    private static readonly string[] OfChanges =
    [
        .. OfWorkers, nameof(RpcListenerOption.CertificatePassword), nameof(RpcListenerOption.ForwardHeader),
        nameof(RpcListenerOption.BlockHeader),
    ];

    // A mock does not check its callers, has no certificate, and is no gateway.
    private static readonly string[] OfMocks =
    [
        .. OfWorkers, nameof(RpcListenerOption.AllowedHost), nameof(RpcListenerOption.AllowedOrigin),
        nameof(RpcListenerOption.AllowGet), nameof(RpcListenerOption.ErrorDetail),
        nameof(RpcListenerOption.NoHealth), nameof(RpcListenerOption.NoReflection),
        nameof(RpcListenerOption.ReplyCompression),
    ];

    private static readonly Dictionary<string, string[]> Supported = new(StringComparer.OrdinalIgnoreCase)
    {
        [Set] = OfChanges,
        [NewMock] = OfMocks,
        [SetMock] = OfWorkers,
    };

    private static readonly string[] OfRawListeners =
        [nameof(RpcListenerOption.MaxCalls), nameof(RpcListenerOption.MaxRequestBytes)];

    private static readonly string[] OfSchemas =
    [
        nameof(RpcListenerOption.AllowedHost), nameof(RpcListenerOption.AllowedOrigin),
        nameof(RpcListenerOption.AllowGet), nameof(RpcListenerOption.BlockHeader),
        nameof(RpcListenerOption.ClientCACertificate), nameof(RpcListenerOption.ErrorDetail),
        nameof(RpcListenerOption.ForwardHeader),
        nameof(RpcListenerOption.NoHealth), nameof(RpcListenerOption.NoReflection),
        nameof(RpcListenerOption.ReplyCompression),
    ];

    /// <summary>The settings that a cmdlet supports; null for all.</summary>
    public static IReadOnlyCollection<string>? SupportedBy(string cmdlet) =>
        Supported.GetValueOrDefault(cmdlet);

    /// <summary>A setting as the user wrote it, for errors.</summary>
    public static string NameOf(string setting) =>
        $"{setting} of -{nameof(RpcHandlersCommand.ListenerOption)}";

    /// <summary>Checks the settings of a new listener.</summary>
    /// <exception cref="RpcException">InvalidArgument: a setting does not apply to this kind of
    /// listener.</exception>
    public static void CheckStart(RpcListenerOption option, bool isRaw)
    {
        if (Find(option, isRaw ? OfSchemas : OfRawListeners) is { } other)
        {
            throw Invalid(
                other,
                isRaw
                    ? "does not apply to a raw listener, only to a listener with a schema."
                    : "applies only to a raw listener, which has -InterfaceId and no -Schema.");
        }
    }

    /// <summary>Checks the settings for a running listener.</summary>
    /// <exception cref="RpcException">InvalidArgument: a setting cannot change.</exception>
    public static void CheckChange(RpcListenerOption option) => Check(
        option, OfChanges, Set,
        "cannot change while the listener runs. Stop the listener, and start it again with this setting.");

    /// <summary>Checks the settings of a new mock.</summary>
    /// <exception cref="RpcException">InvalidArgument: a mock does not have the setting.</exception>
    public static void CheckMock(RpcListenerOption option) => CheckMock(option, NewMock);

    /// <summary>Checks the settings for a running mock.</summary>
    /// <exception cref="RpcException">InvalidArgument: a setting cannot change.</exception>
    public static void CheckMockChange(RpcListenerOption option)
    {
        CheckMock(option, SetMock);
        Check(
            option, OfWorkers, SetMock,
            "cannot change while the mock runs. Stop the mock, and create one with this setting.");
    }

    private static void CheckMock(RpcListenerOption option, string cmdlet) => Check(
        option, OfMocks, cmdlet,
        "does not apply to a mock. Use Start-RpcListener, whose -Handler also accepts fixed replies.");

    private static void Check(
        RpcListenerOption option, IEnumerable<string> allowed, string cmdlet, string why)
    {
        if (Find(option, RpcOption.NamesOf(typeof(RpcListenerOption)).Except(allowed)) is { } other)
        {
            throw Invalid(other, $"{why} {cmdlet} supports {string.Join(", ", Supported[cmdlet])}.");
        }
    }

    private static string? Find(RpcListenerOption option, IEnumerable<string> names) =>
        names.FirstOrDefault(option.IsGiven);

    private static RpcException Invalid(string setting, string why) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported, $"{NameOf(setting)} {why}");
}
