namespace ProtoRpc.Protocols.Dce;

/// <summary>The codes of Win32 that the RPC runtime of Windows reports in place of faults
/// ([MS-ERREF] 2.2), and that a transport of whole messages uses in both directions.</summary>
internal static class WindowsStatus
{
    /// <summary>The caller is not accepted.</summary>
    public const uint AccessDenied = 5;

    /// <summary>The reply is over the limit.</summary>
    public const uint ReplyTooLarge = 1130;

    /// <summary>There is no such call.</summary>
    public const uint NotFound = 1168;

    /// <summary>The name of an endpoint is malformed.</summary>
    public const uint InvalidEndpointFormat = 1706;

    /// <summary>The interface is not served.</summary>
    public const uint UnknownInterface = 1717;

    /// <summary>The server's endpoint is not there.</summary>
    public const uint ServerUnavailable = 1722;

    /// <summary>The server has too many calls, or the request is over its limit.</summary>
    public const uint ServerTooBusy = 1723;

    /// <summary>The call failed, and may have run.</summary>
    public const uint CallFailed = 1726;

    /// <summary>The call failed and did not run.</summary>
    public const uint CallFailedDidNotExecute = 1727;

    /// <summary>The endpoint exists already.</summary>
    public const uint DuplicateEndpoint = 1740;

    /// <summary>A text is longer than the runtime takes.</summary>
    public const uint StringTooLong = 1743;

    /// <summary>The server does not listen.</summary>
    public const uint EndpointNotRegistered = 1753;

    /// <summary>The arguments cannot be decoded.</summary>
    public const uint BadStubData = 1783;

    /// <summary>The call was cancelled.</summary>
    public const uint CallCancelled = 1818;

    /// <summary>Calls must be protected better.</summary>
    public const uint UnsupportedLevel = 1821;

    /// <summary>E_FAIL: what the original server answers when its handler throws.</summary>
    public const uint HandlerFailed = 0x80004005;
}
