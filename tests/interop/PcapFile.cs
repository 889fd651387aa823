using System.Buffers.Binary;

namespace ProtoRpc.Interop;

/// <summary>Writes a TCP conversation as a capture file, so that no privilege to capture is needed.</summary>
internal static class PcapFile
{
    private const uint Magic = 0xA1B2C3D4;
    private const uint RawIp = 101;
    private const int IpHeader = 20;
    private const int TcpHeader = 20;
    private const ushort ClientPort = 50000;
    private const byte Syn = 0x02;
    private const byte Ack = 0x10;
    private const byte PushAck = 0x18;

    public static void Write(
        string path, ushort serverPort, IEnumerable<(bool FromClient, byte[] Bytes)> said)
    {
        using BinaryWriter file = new(File.Create(path));
        file.Write(Magic);
        file.Write((ushort)2);
        file.Write((ushort)4);
        file.Write(0L);
        file.Write(65535u);
        file.Write(RawIp);
        uint[] next = [1, 1];
        uint time = 0;
        void Packet(bool fromClient, byte flags, byte[] bytes)
        {
            int side = fromClient ? 0 : 1;
            byte[] packet = new byte[IpHeader + TcpHeader + bytes.Length];
            packet[0] = 0x45;
            BinaryPrimitives.WriteUInt16BigEndian(packet.AsSpan(2), (ushort)packet.Length);
            packet[8] = 64;
            packet[9] = 6;
            new byte[] { 127, 0, 0, (byte)(1 + side), 127, 0, 0, (byte)(2 - side) }.CopyTo(packet, 12);
            Span<byte> tcp = packet.AsSpan(IpHeader);
            BinaryPrimitives.WriteUInt16BigEndian(tcp, fromClient ? ClientPort : serverPort);
            BinaryPrimitives.WriteUInt16BigEndian(tcp[2..], fromClient ? serverPort : ClientPort);
            BinaryPrimitives.WriteUInt32BigEndian(tcp[4..], next[side]);
            BinaryPrimitives.WriteUInt32BigEndian(tcp[8..], next[1 - side]);
            tcp[12] = TcpHeader / 4 << 4;
            tcp[13] = flags;
            BinaryPrimitives.WriteUInt16BigEndian(tcp[14..], ushort.MaxValue);
            bytes.CopyTo(tcp[TcpHeader..]);
            next[side] += (uint)bytes.Length + ((flags & Syn) != 0 ? 1u : 0);
            file.Write(1u);
            file.Write(time++);
            file.Write(packet.Length);
            file.Write(packet.Length);
            file.Write(packet);
        }

        Packet(fromClient: true, Syn, []);
        Packet(fromClient: false, Syn | Ack, []);
        Packet(fromClient: true, Ack, []);
        foreach ((bool fromClient, byte[] bytes) in said)
        {
            Packet(fromClient, PushAck, bytes);
        }
    }
}
