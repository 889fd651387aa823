namespace ProtoRpc.Security.Ntlm;

/// <summary>The kinds of AV pairs ([MS-NLMP] section 2.2.2.1).</summary>
internal enum AvId : ushort
{
    EndOfList = 0,
    ComputerName = 1,
    DomainName = 2,
    Flags = 6,
    Timestamp = 7,
    TargetName = 9,
    ChannelBindings = 10,
}
