// gRPC's C++ library as a peer of the benchmarks: blocking callers that share a channel, and the synchronous
// server. docs/benchmarks/README.md says what a peer reads and prints.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <cstdio>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "benchmark.grpc.pb.h"

using Benchmark::SampleRequest;
using Benchmark::SampleResponse;
using Benchmark::SampleService;
using Clock = std::chrono::steady_clock;

static std::string base64(const std::string& bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        unsigned value = static_cast<unsigned char>(bytes[i]) << 16;
        if (i + 1 < bytes.size()) value |= static_cast<unsigned char>(bytes[i + 1]) << 8;
        if (i + 2 < bytes.size()) value |= static_cast<unsigned char>(bytes[i + 2]);
        text += digits[value >> 18 & 63];
        text += digits[value >> 12 & 63];
        text += i + 1 < bytes.size() ? digits[value >> 6 & 63] : '=';
        text += i + 2 < bytes.size() ? digits[value & 63] : '=';
    }
    return text;
}

// Records with new content for each call.
template <typename Message>
static void fill(Message* message, int records) {
    thread_local std::mt19937_64 random{std::random_device{}()};
    for (int i = 0; i < records; i++) {
        std::string bytes(32, '\0');
        for (size_t at = 0; at < bytes.size(); at += 8) {
            const uint64_t value = random();
            bytes.replace(at, 8, reinterpret_cast<const char*>(&value), 8);
        }
        auto* record = message->add_data();
        record->set_text(base64(bytes));
        record->set_bytes(std::move(bytes));
        record->set_number(i);
        record->set_float_(i * 1.5);
        // 100 ns ticks since the year 1.
        record->set_time(621355968000000000 + std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::system_clock::now().time_since_epoch()).count() / 100);
    }
}

static double cpu_milliseconds() { return std::clock() * 1000.0 / CLOCKS_PER_SEC; }

class Service final : public SampleService::Service {
public:
    explicit Service(int records) : records_(records) {}

    grpc::Status Test(grpc::ServerContext*, const SampleRequest*, SampleResponse* reply) override {
        fill(reply, records_);
        return grpc::Status::OK;
    }

private:
    const int records_;
};

static int serve(const std::string& address, int records) {
    Service service(records);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterService(&service);
    std::unique_ptr<grpc::Server> server(builder.BuildAndStart());
    if (!server) {
        std::cerr << "The server did not start at " << address << std::endl;
        return 1;
    }
    const bool is_tcp = address.rfind("unix:", 0) != 0;
    std::cout << "ready "
        << (is_tcp ? address.substr(0, address.rfind(':') + 1) + std::to_string(port) : address) << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << "used " << cpu_milliseconds() << " 0" << std::endl;
    }
    server->Shutdown(std::chrono::system_clock::now());
    return 0;
}

struct Caller {
    std::vector<double> times;
    double rate = 0;
    bool failed = false;
};

static void call(SampleService::Stub* stub, int records, Clock::time_point end, Caller* caller) {
    const auto began = Clock::now();
    auto now = began;
    do {
        SampleRequest request;
        fill(&request, records);
        SampleResponse reply;
        grpc::ClientContext context;
        const grpc::Status status = stub->Test(&context, request, &reply);
        if (!status.ok() || reply.data_size() != records) {
            std::cerr << "A call failed: " << status.error_message() << std::endl;
            caller->failed = true;
            return;
        }
        const auto next = Clock::now();
        caller->times.push_back(std::chrono::duration<double, std::micro>(next - now).count());
        now = next;
    } while (now < end);
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    caller->rate = caller->times.size() / seconds;
}

static double percentile(const std::vector<double>& sorted, double share) {
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(sorted.size() * share))];
}

static int run_client(const std::string& address, int records, int count) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    const auto channel =
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) {
        std::cerr << "There is no server at " << address << std::endl;
        return 1;
    }
    const auto stub = SampleService::NewStub(channel);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<Caller> callers(count);
        std::vector<std::thread> threads;
        const double cpu = cpu_milliseconds();
        const auto start = Clock::now();
        for (auto& caller : callers) {
            threads.emplace_back(
                call, stub.get(), records, start + std::chrono::milliseconds(std::stoi(line)), &caller);
        }
        for (auto& thread : threads) thread.join();
        const double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        std::vector<double> times;
        std::string rates;
        for (const auto& caller : callers) {
            if (caller.failed) return 1;
            times.insert(times.end(), caller.times.begin(), caller.times.end());
            rates += (rates.empty() ? "" : ",") + std::to_string(caller.rate);
        }
        std::sort(times.begin(), times.end());
        std::printf("done %zu %.3f %s %.2f %.2f %.3f 0\n", times.size(), milliseconds, rates.c_str(),
            percentile(times, 0.5), percentile(times, 0.99), cpu_milliseconds() - cpu);
        std::fflush(stdout);
    }
    return 0;
}

int main(int argc, char** argv) {
    const std::string role = argc > 3 ? argv[1] : "";
    if (role == "server") return serve(argv[2], std::stoi(argv[3]));
    if (role == "client" && argc > 4) return run_client(argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
    std::cerr << "peer server ADDRESS RECORDS | client ADDRESS RECORDS CALLERS" << std::endl;
    return 2;
}
