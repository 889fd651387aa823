namespace ProtoRpc.Security.Sspi;

/// <summary>What SSPI answers, and exceptions of it.</summary>
internal static class SspiStatus
{
    public const int Ok = 0;
    public const int ContinueNeeded = 0x00090312;
    public const int CompleteNeeded = 0x00090313;
    public const int CompleteAndContinue = 0x00090314;

    /// <summary>A token, a ticket or a password proves nothing.</summary>
    public static RpcException Refused(string package, int status) =>
        SecurityErrors.Refused(package, Text(status));

    /// <summary>There is nothing to prove somebody by, or to verify with.</summary>
    public static RpcException NoCredential(string package, int status) => new(
        RpcStatusCode.FailedPrecondition, $"{package} cannot be used by this account: {Text(status)}.")
    {
        ErrorId = "NoCredentials",
    };

    /// <summary>What a status means.</summary>
    public static string Text(int status) => (uint)status switch
    {
        0x80090300 => "there is not enough memory",
        0x80090302 => "what was asked for is not supported",
        0x80090303 => "the service principal name is not known, or the server is not there",
        0x80090305 => "the system does not have this package",
        0x80090308 => "the token of the other side does not decode. It may speak another mechanism",
        0x8009030C => "the logon was denied: the user is not known, or the password is wrong",
        0x8009030D => "the credential is not known to the package",
        0x8009030E => "there is no credential: the account has logged on without a password or ticket",
        0x8009030F => "the message was changed on the way",
        0x80090310 => "the message is out of sequence",
        0x80090311 => "no authority could be asked: the domain controller or KDC cannot be reached",
        0x80090317 => "the context is expired",
        0x80090322 => "the service runs as another account than the service principal name says",
        0x80090324 => "the clocks of client and server are too far apart. Set them",
        0x80090342 => "the encryption type is not supported by the KDC",
        0x80090346 => "the client came over another TLS connection than it authenticated for",
        _ => $"SSPI answers 0x{status:X8}",
    };
}
