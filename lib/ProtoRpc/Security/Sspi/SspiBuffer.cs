using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecBuffer</c>: octets, how many, and what they are.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiBuffer(uint type, byte* value, int length)
{
    public const uint Data = 1;
    public const uint Token = 2;

    /// <summary>On data: not encrypted, and signed by packages that sign whole messages anyhow.</summary>
    public const uint ReadOnly = 0x80000000;

    /// <summary>On data: not encrypted, and signed.</summary>
    public const uint ReadOnlyWithChecksum = 0x10000000;

    public uint Length = (uint)length;
    public uint Type = type;
    public byte* Value = value;
}
