using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Gss;

/// <summary><c>gss_iov_buffer_desc</c>: a part of a message, and what it is.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct GssIov(uint type, GssBuffer buffer)
{
    public const uint Data = 1;
    public const uint Header = 2;
    public const uint SignOnly = 11;
    public const uint Mic = 12;

    public uint Type = type;
    public GssBuffer Buffer = buffer;
}
