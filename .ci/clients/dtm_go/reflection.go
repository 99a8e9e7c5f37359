package main

import (
	"context"

	"github.com/dtm-labs/client/dtmgrpc/dtmgpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// checkReflection asks the server to describe itself, and compares that with what the client was
// generated from.
func checkReflection(target string) {
	conn, err := grpc.Dial(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer conn.Close()
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(context.Background())
	check(err)
	ask := func(request *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		check(stream.Send(request))
		response, err := stream.Recv()
		check(err)
		return response
	}
	services := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService()
	expect(len(services) == 1, "services: %v", services)
	files := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: services[0].GetName(),
		},
	}).GetFileDescriptorResponse().GetFileDescriptorProto()
	encoded := new(descriptorpb.FileDescriptorProto)
	check(proto.Unmarshal(files[0], encoded))
	shown, err := protodesc.NewFile(encoded, protoregistry.GlobalFiles)
	check(err)
	check(stream.CloseSend())

	known := dtmgpb.File_dtmgimp_proto
	for i := range known.Messages().Len() {
		message := known.Messages().Get(i)
		other := shown.Messages().ByName(message.Name())
		expect(other != nil && other.Fields().Len() == message.Fields().Len(), "%s", message.Name())
		for j := range message.Fields().Len() {
			field := message.Fields().Get(j)
			found := other.Fields().ByNumber(field.Number())
			same := found != nil && found.Name() == field.Name() && found.Kind() == field.Kind() &&
				found.Cardinality() == field.Cardinality() && found.IsMap() == field.IsMap()
			expect(same, "%s", field.FullName())
		}
	}
	methods := func(file protoreflect.FileDescriptor) protoreflect.MethodDescriptors {
		return file.Services().ByName("Dtm").Methods()
	}
	for i := range methods(known).Len() {
		method := methods(known).Get(i)
		found := methods(shown).ByName(method.Name())
		same := found != nil && found.Input().FullName() == method.Input().FullName() &&
			found.Output().FullName() == method.Output().FullName()
		expect(same, "%s", method.FullName())
	}
}
